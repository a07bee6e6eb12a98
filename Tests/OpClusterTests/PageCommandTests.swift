// The dashboard over a real cluster: `opweb` and `opbatch page` as processes, pages over real
// connections. What a browser makes of them is seen by `deploy/dashboard/check`.

import Citations
import Glibc
import OpClusterModel
import RealCluster
import Testing

@Suite struct PageCommandTests {
  private func manifest(_ folder: String) throws -> String {
    let path = "\(folder)/graph.yaml"
    try write(
      """
      version: 1
      name: shown
      on_failure: continue
      operations:
        one:
          run: "echo '<b>bold</b>'; echo x >&2; while [ ! -e \(folder)/go ]; do sleep 0.1; done"
        many: {run: "test $OP_INDEX != 3 || exit 4", array: 1-50, needs: one}

      """, to: path)
    return path
  }

  /// A graph is followed to its end by two people, whatever order events come in; text of others
  /// stays text.
  @Test(.checks("G38", "S116")) func aGraphToItsEnd() async throws {
    try await Cluster.with { cluster in
      let browser = try await Browser(
        cluster.startClient(
          "opweb", ["--listen", "127.0.0.1:0", "--coordinator", cluster.address]))
      #expect(try browser.get("/").contains("workers connected"))
      let path = try manifest(cluster.folder)
      #expect(try await cluster.opbatch("submit", path).status == 0)
      let followers = [
        try browser.follow("/graphs/1"), try browser.follow("/"),
        try browser.follow("/graphs/1/operations/0"),
      ]
      try await eventually("its output is shown", details: { followers[2].text }) {
        followers[2].text.contains("<b>bold</b>")
      }
      let operation = try browser.get("/graphs/1/operations/0")
      #expect(operation.contains("&lt;b&gt;bold") && !operation.contains("<b>bold"))
      try write("", to: "\(cluster.folder)/go")
      try await eventually("its end is shown", details: { followers[0].text }) {
        followers[0].text.contains("51 of 51 operations ended")
      }
      try await eventually("its failure is shown", details: { followers[1].text }) {
        followers[1].text.contains("1/many/3")
      }
      let rows = try browser.get("/graphs/1/rows?state=failed&from=0")
      #expect(rows.contains("X-Row-Count: 1\r\n") && rows.contains("exit status 4"))
      #expect(try browser.get("/graphs/1/rows?from=50").contains("many/50"))
      #expect(try browser.get("/graphs/1/rows?from=51").contains("X-Row-Count: 51"))
      #expect(try browser.get("/graphs/2").hasPrefix("HTTP/1.1 404"))
      #expect(try browser.get("/graphs/1/operations/51").hasPrefix("HTTP/1.1 404"))
      browser.program.signal(SIGTERM)
      #expect(try await browser.program.ended() == 0)
      for follower in followers { try await eventually("it has ended") { follower.hasEnded } }
    }
  }

  /// Nobody looks without the token, and no page of others sends a form.
  @Test(.checks("G36")) func whoMayLookAndAct() async throws {
    try await Cluster.with { cluster in
      let browser = try await Browser(
        cluster.startOpbatch(["page", "--no-browser"]))
      for path in ["/", "/graphs", "/live?page=/", "/graphs/1/rows?from=0", "/none"] {
        let answer = try PlainHTTP.get(
          path, from: browser.port, headers: "Cookie: opweb-\(browser.port)=guess\r\n")
        #expect(answer.hasPrefix("HTTP/1.1 421"), "\(path): the host is another one")
        let ours = try PlainHTTP.send(
          "GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
          to: browser.port)
        #expect(ours.hasPrefix("HTTP/1.1 401"), "\(path)")
      }
      let path = try manifest(cluster.folder)
      #expect(try await cluster.opbatch("submit", path).status == 0)
      let page = try browser.get("/graphs/1")
      let token = try browser.formToken(of: page)
      for (form, more) in [
        ("graph=1", ""), ("graph=1&form-token=wrong", ""),
        ("graph=1&form-token=\(token)", "Origin: http://evil.example\r\n"),
      ] {
        let answer = try browser.post("/act/cancel", form, more: more)
        #expect(answer.hasPrefix("HTTP/1.1 403"), "\(form)")
      }
      #expect(try browser.get("/act/cancel").hasPrefix("HTTP/1.1 405"))
      let suspended = try browser.post(
        "/act/suspend", "graph=1&suspended=yes&form-token=\(token)",
        more: "Origin: http://127.0.0.1:\(browser.port)\r\n")
      #expect(suspended.contains("Location: /graphs/1\r\n"))
      #expect(try browser.get("/graphs/1").contains("Suspended: graph 1."))
      #expect(!(try browser.get("/graphs/1").contains("Suspended: graph 1.")), "told once")
      let limit = try browser.post(
        "/act/queue-limit", "queue=default&limit=7&form-token=\(token)")
      #expect(limit.hasPrefix("HTTP/1.1 303"))
      #expect(try browser.get("/queues").contains("value=\"7\""))
      _ = try browser.post("/act/queue-limit", "queue=default&limit=x&form-token=\(token)")
      #expect(try browser.get("/queues").contains("Nothing was changed"))
      _ = try browser.post("/act/cancel", "graph=1&form-token=\(token)")
      let ended = try await cluster.opbatch("wait", "1")
      #expect(ended.status == 2, "\(ended.error)")
      _ = try browser.post("/act/retry", "graph=1&failed=no&form-token=\(token)")
      #expect(try browser.get("/graphs/2").contains("Graph 2 does graph 1 again."))
    }
  }

  /// A coordinator that comes back is followed again.
  @Test(.checks("G13")) func aCoordinatorThatComesBack() async throws {
    try await Cluster.with { cluster in
      let browser = try await Browser(
        cluster.startClient(
          "opweb", ["--listen", "127.0.0.1:0", "--coordinator", cluster.address]))
      let path = try manifest(cluster.folder)
      #expect(try await cluster.opbatch("submit", path).status == 0)
      let follower = try browser.follow("/graphs/1")
      try await eventually("it is shown") { follower.text.contains("running") }
      try await cluster.kill("opcoord")
      try await cluster.startCoordinator()
      try write("", to: "\(cluster.folder)/go")
      try await eventually("its end is shown", details: { follower.text }) {
        follower.text.contains("51 of 51 operations ended")
      }
    }
  }

  /// The key of an observer looks and does not touch, whatever a form says.
  @Test(.checks("G36")) func anObserver() async throws {
    try await KeySite.with { site in
      let invited = try await site.opcoord(
        "key", "invite", "--role", "observer", "--client", site.clients, "--worker", site.workers)
      let token = invited.output.split(separator: " ").map(String.init).first {
        $0.hasPrefix("opjoin_")
      }
      let joined = try await site.opbatch("olga", "key", "join", try #require(token))
      #expect(joined.status == 0, "\(joined.error)")
      let submitted = try await site.opbatch(
        "main", "submit", "--hold", try manifest(site.folder))
      #expect(submitted.status == 0, "\(submitted.error)")
      let browser = try await Browser(
        site.start(
          "opweb", home: "olga", ["--listen", "127.0.0.1:0", "--coordinator", site.clients]))
      let page = try browser.get("/graphs/1")
      #expect(page.contains("shown") && !page.contains("form-token"))
      // Nor is there a token that it could send: one of its session would be refused all the same.
      #expect(try browser.post("/act/cancel", "graph=1&form-token=x").hasPrefix("HTTP/1.1 403"))
      // Without a key nothing is seen at all.
      let stranger = try site.start(
        "opweb", home: "nobody", ["--listen", "127.0.0.1:0", "--coordinator", site.clients])
      #expect(try await stranger.ended() == 78, "\(stranger.error)")
    }
  }

  @Test func wrongOptions() async throws {
    try await Cluster.with(Cluster.Shape(workers: 0)) { cluster in
      try write("short\n", to: "\(cluster.folder)/token")
      for (words, status, text) in [
        (["--listen", "nowhere"], 64, "HOST:PORT"),
        (["--listen", "*:0"], 78, "ssh -L"),
        (["--certificate", "x"], 64, "belong together"),
        (["--listen", "127.0.0.1:0", "--token-file", "\(cluster.folder)/none"], 78, "no file"),
        (["--listen", "127.0.0.1:0", "--coordinator", "ipc:///none"], 69, "cannot reach"),
      ] as [([String], Int32, String)] {
        let program = try cluster.startClient("opweb", words)
        let end = try await program.ended()
        #expect(end == status && program.error.contains(text), "\(words): \(program.error)")
      }
    }
  }
}
