// What every rendering of `Renderings.swift` must look like. When one is changed on purpose, its
// text here is replaced and read.

enum Expected {
  static let texts: [String: String] = [
    "graph page 60": #"""
    12  rnaseq  running

      operations 804: 422 succeeded, 2 failed, 12 executing, 6
                 ready, 362 waiting
      submitted  02:40:48
      took       1m 23s

      STAGE           DONE  COUNTS
      index            1/1  succeeded
      fetch            1/1  succeeded
      align [400]  302/400  2 failed, 8 executing, 90 waiting
      merge            0/1  1 waiting
      stats [400]  120/400  4 executing, 6 ready, 270 waiting
      report           0/1  1 waiting

      what failed: opbatch ls 12 --state failed,timed-out,lost
    """#,
    "operation page 60": #"""
    12/align/3  failed

      why        exit status 2, in attempt 2
      command    bwa mem -t 4 'ref genome.fa' ${{ item }}
      queue      default
      worker     w1
      attempt    2
      needs      12/index
      submitted  02:40:48
      ready      02:40:49
      started    02:40:50
      finished   02:41:50
      took       1m 00s
      used       58s of processor, 1.5 GiB of memory at most

      ATTEMPT  WORKER  ENDED
            1  w2      ran into its timeout, ended by TERM (15)
            2  w1      exit status 2

      stderr
        │ reading \x1b[31mref.fa\x1b[0m
        │ bwa: cannot open

      all of it: opbatch logs 12/align/3 --stderr
    """#,
    "failure page 60": #"""
    12/align/3  failed: exit status 2, in attempt 2
      command    bwa mem -t 4 'ref genome.fa' ${{ item }}

      stderr
        │ reading \x1b[31mref.fa\x1b[0m
        │ bwa: cannot open

      all of it: opbatch logs 12/align/3 --stderr
    """#,
    "waiting page 60": #"""
    12/align  waiting

      command    set -e

                 make \x1ball
      queue      default
      submitted  02:40:48
    """#,
    "graphs 60": #"""
    GRAPH  NAME             STATE                   DONE  FAILED
       12  rnaseq           running              424/804       2
        7  ゲノム解析\x1b…  failed   1,234,570/1,234,570       3
    """#,
    "operations 60": #"""
    OPERATION   STATE    QUEUE    WORKER  TOOK    WHY
    12/align/3  failed   default  w1      1m 00s  exit status 2
    12/align/3  waiting  default
    """#,
    "queues 60": #"""
    QUEUE    STATE      LIMIT  OPERATIONS  EXECUTING  QOS
    io       suspended      4          12          3  utility
    default  open        none      12,345          8  default
    """#,
    "workers 60": #"""
    WORKER          STATE      EXECUTING     CPUS  MEMORY
    node-1          connected          3      7/8  24 GiB/32 GiB
    a-node-with-a…  suspect            0  0.5/1.5
    """#,
    "why 60": #"""
    12/align/3  waiting
      it waits for 12/index, which is executing on node-1
        since 02:40:50 and has been tried twice before
      its queue 'io' is suspended; resume it with: opbatch
        queue resume io

    12/align/4  skipped
      12/index failed
      its stderr:
      \x1b[1mboom
    """#,
    "stage table 60": #"""
    12 rnaseq  running  424/804  1m 23s
      index            1/1  succeeded
      fetch            1/1  succeeded
      align [400]  302/400  2 failed, 8 executing, 90 waiting
      merge            0/1  1 waiting
      stats [400]  120/400  4 executing, 6 ready, 270 waiting
      report           0/1  1 waiting
    """#,
    "stage table of 5 60": #"""
    12 rnaseq  running  424/804  1m 23s
      align [400]  302/400  2 failed, 8 executing, 90 waiting
      merge            0/1  1 waiting
      stats [400]  120/400  4 executing, 6 ready, 270 waiting
      … 3 more stages: 2 done, 1 waiting
    """#,
    "drawing 60": #"""
    12 rnaseq  running  424/804

      ┌───────────┐   ┌───────────┐
      │ index     │   │ fetch     │
      │ succeeded │   │ succeeded │
      └─────┬─────┘   └─────┬─────┘
            └───────┐       │
                    ├───────┘
          ┌─────────┴─────────┐
          │ align [400]       │
          │ 302/400, 2 failed │
          └─────────┬─────────┘
          ┌─────────┴─────────┐
     ┌────┴────┐  ┌───────────┴──────────┐
     │ merge   │  │ stats [400]          │
     │ waiting │  │ 120/400, 4 executing │
     └────┬────┘  └───────────┬──────────┘
          └─────────┐         │
                    ├─────────┘
               ┌────┴────┐
               │ report  │
               │ waiting │
               └─────────┘
    """#,
    "long edges 60": #"""
    12 rnaseq  running  0/8

             ┌─────────┐     ┌─────────┐
             │ a       │     │ f       │
             │ waiting │     │ waiting │
             └────┬────┘     └────┬────┘
                  │      ┌────────┴────────┐
     ┌──────────┬─┴──────│────────┐        │
     │     ┌────┴────┐   │   ┌────┴────┐   │
     │     │ b       │   │   │ e       │   │
     │     │ waiting │   │   │ waiting │   │
     │     └────┬────┘   │   └────┬────┘   │
     │        ┌─┴────────│─────┐  │        │
     │        │          └─┐   │  │        │
     │        │        ┌───│───│──┴─────┐  │
     │        │        │   │   │        ├──┘
     │   ┌────┴────┐   │   │   │   ┌────┴────┐
     │   │ c       │   │   │   │   │ g       │
     │   │ waiting │   │   │   │   │ waiting │
     │   └────┬────┘   │   │   │   └────┬────┘
     └────────│──┐     │   │   │        │
              └──┤     │   │   │        │
                 ├─────┘   │   │        │
                 ├─────────┘   │        │
                 │             └───┐    │
                 │                 ├────┘
            ┌────┴────┐       ┌────┴────┐
            │ d       │       │ h       │
            │ waiting │       │ waiting │
            └─────────┘       └─────────┘
    """#,
    "cycle 60": #"""
    12 rnaseq  running  0/4

      1  a  waiting  after c
      2  b  waiting  after a
      3  c  waiting  after b
      4  d  waiting  after c
    """#,
    "events 60": #"""
    02:40:48.123  12              submitted, 804 operations
    02:40:49.123  12/align/3      ready
    02:40:50.123  12/align/3      executing
    02:40:51.123  12/align/3      attempt 1 on w4
    02:40:52.123  12/align/3      attempt 1 ended: ran into its timeout; to be tried again
    02:40:53.123  12/align/3      not executing
    02:40:54.123  12/align/3      finished: timed-out
    02:40:55.123  12/align/3      completion
    02:40:56.123  12/align/3      cancelled by request: wrong\x1b input
    02:40:57.123  12/align/3      skipped because 12/align/1 failed
    02:40:58.123  12/align/3      finished: skipped
    02:40:59.123  12/align/3      priority very-high
    02:41:00.123  12              suspended
    02:41:01.123  12              resumed
    02:41:02.123  12              failed
    02:41:03.123  queue io        created: at most 4, utility, suspended, on workers with disk=ssd|nvme
    02:41:04.123  queue io        removed
    02:41:05.123  worker w4       joined
    02:41:06.123  worker w4       lost
    02:41:07.123  worker w4       given no operations of 12/align: no /data
    02:41:08.123  worker w4       given operations of 12/align again
    02:41:09.123  worker w4       set aside: no \x1b disk
    02:41:10.123  worker w4       given operations again
    """#,
    "graph page 140": #"""
    12  rnaseq  running

      operations 804: 422 succeeded, 2 failed, 12 executing, 6 ready, 362 waiting
      submitted  02:40:48
      took       1m 23s

      STAGE           DONE  COUNTS                                            QUEUE    RUNS     NEEDS
      index            1/1  1 succeeded                                       default  command
      fetch            1/1  1 succeeded                                       default  command
      align [400]  302/400  300 succeeded, 2 failed, 8 executing, 90 waiting  default  command  index, fetch
      merge            0/1  1 waiting                                         default  command  align
      stats [400]  120/400  120 succeeded, 4 executing, 6 ready, 270 waiting  default  command  align
      report           0/1  1 waiting                                         default  command  merge, stats (finished)

      what failed: opbatch ls 12 --state failed,timed-out,lost
    """#,
    "operation page 140": #"""
    12/align/3  failed

      why        exit status 2, in attempt 2
      command    bwa mem -t 4 'ref genome.fa' ${{ item }}
      queue      default
      worker     w1
      attempt    2
      needs      12/index
      submitted  02:40:48
      ready      02:40:49
      started    02:40:50
      finished   02:41:50
      took       1m 00s
      used       58s of processor, 1.5 GiB of memory at most

      ATTEMPT  WORKER  ENDED
            1  w2      ran into its timeout, ended by TERM (15)
            2  w1      exit status 2

      stderr
        │ reading \x1b[31mref.fa\x1b[0m
        │ bwa: cannot open

      all of it: opbatch logs 12/align/3 --stderr
    """#,
    "failure page 140": #"""
    12/align/3  failed: exit status 2, in attempt 2
      command    bwa mem -t 4 'ref genome.fa' ${{ item }}

      stderr
        │ reading \x1b[31mref.fa\x1b[0m
        │ bwa: cannot open

      all of it: opbatch logs 12/align/3 --stderr
    """#,
    "waiting page 140": #"""
    12/align  waiting

      command    set -e

                 make \x1ball
      queue      default
      submitted  02:40:48
    """#,
    "graphs 140": #"""
    GRAPH  NAME                             STATE                   DONE  EXECUTING  FAILED  SUBMITTED   TOOK
       12  rnaseq                           running              424/804         12       2  1m 23s ago  1m 23s
        7  ゲノム解析\x1b[2J\u{202e}abc 🧬  failed   1,234,570/1,234,570                  3  1m 23s ago  2h 30m
    """#,
    "operations 140": #"""
    OPERATION   STATE    QUEUE    WORKER  TRY  TOOK    WHY
    12/align/3  failed   default  w1        2  1m 00s  exit status 2
    12/align/3  waiting  default
    """#,
    "queues 140": #"""
    QUEUE    STATE      LIMIT  OPERATIONS  DISPATCHED  EXECUTING  BARRIERS  QOS      WORKERS WITH
    io       suspended      4          12           1          3         1  utility  disk=ssd|nvme
    default  open        none      12,345                      8            default
    """#,
    "workers 140": #"""
    WORKER                                    STATE      EXECUTING     CPUS  MEMORY         OTHER                 TYPES            HEARD
    node-1                                    connected          3      7/8  24 GiB/32 GiB  gpus 1/1 licence 2/2  image.denoise@1  400ms ago
    a-node-with-a-very-long-name.example.org  suspect            0  0.5/1.5                                                        6.0s ago
    """#,
    "why 140": #"""
    12/align/3  waiting
      it waits for 12/index, which is executing on node-1 since 02:40:50 and has been tried twice before
      its queue 'io' is suspended; resume it with: opbatch queue resume io

    12/align/4  skipped
      12/index failed
      its stderr:
      \x1b[1mboom
    """#,
    "stage table 140": #"""
    12 rnaseq  running  424/804  1m 23s
      index        ████████████████████████      1/1  succeeded
      fetch        ████████████████████████      1/1  succeeded
      align [400]  ██████████████████▒▓····  302/400  2 failed, 8 executing, 90 waiting
      merge        ························      0/1  1 waiting
      stats [400]  ███████▓················  120/400  4 executing, 6 ready, 270 waiting
      report       ························      0/1  1 waiting
    """#,
    "stage table of 5 140": #"""
    12 rnaseq  running  424/804  1m 23s
      align [400]  ██████████████████▒▓····  302/400  2 failed, 8 executing, 90 waiting
      merge        ························      0/1  1 waiting
      stats [400]  ███████▓················  120/400  4 executing, 6 ready, 270 waiting
      … 3 more stages: 2 done, 1 waiting
    """#,
    "drawing 140": #"""
    12 rnaseq  running  424/804

      ┌───────────┐   ┌───────────┐
      │ index     │   │ fetch     │
      │ succeeded │   │ succeeded │
      └─────┬─────┘   └─────┬─────┘
            └───────┐       │
                    ├───────┘
          ┌─────────┴─────────┐
          │ align [400]       │
          │ 302/400, 2 failed │
          └─────────┬─────────┘
          ┌─────────┴─────────┐
     ┌────┴────┐  ┌───────────┴──────────┐
     │ merge   │  │ stats [400]          │
     │ waiting │  │ 120/400, 4 executing │
     └────┬────┘  └───────────┬──────────┘
          └─────────┐         │
                    ├─────────┘
               ┌────┴────┐
               │ report  │
               │ waiting │
               └─────────┘
    """#,
    "long edges 140": #"""
    12 rnaseq  running  0/8

             ┌─────────┐     ┌─────────┐
             │ a       │     │ f       │
             │ waiting │     │ waiting │
             └────┬────┘     └────┬────┘
                  │      ┌────────┴────────┐
     ┌──────────┬─┴──────│────────┐        │
     │     ┌────┴────┐   │   ┌────┴────┐   │
     │     │ b       │   │   │ e       │   │
     │     │ waiting │   │   │ waiting │   │
     │     └────┬────┘   │   └────┬────┘   │
     │        ┌─┴────────│─────┐  │        │
     │        │          └─┐   │  │        │
     │        │        ┌───│───│──┴─────┐  │
     │        │        │   │   │        ├──┘
     │   ┌────┴────┐   │   │   │   ┌────┴────┐
     │   │ c       │   │   │   │   │ g       │
     │   │ waiting │   │   │   │   │ waiting │
     │   └────┬────┘   │   │   │   └────┬────┘
     └────────│──┐     │   │   │        │
              └──┤     │   │   │        │
                 ├─────┘   │   │        │
                 ├─────────┘   │        │
                 │             └───┐    │
                 │                 ├────┘
            ┌────┴────┐       ┌────┴────┐
            │ d       │       │ h       │
            │ waiting │       │ waiting │
            └─────────┘       └─────────┘
    """#,
    "cycle 140": #"""
    12 rnaseq  running  0/4

      1  a  waiting  after c
      2  b  waiting  after a
      3  c  waiting  after b
      4  d  waiting  after c
    """#,
    "events 140": #"""
    02:40:48.123  12              submitted, 804 operations
    02:40:49.123  12/align/3      ready
    02:40:50.123  12/align/3      executing
    02:40:51.123  12/align/3      attempt 1 on w4
    02:40:52.123  12/align/3      attempt 1 ended: ran into its timeout; to be tried again
    02:40:53.123  12/align/3      not executing
    02:40:54.123  12/align/3      finished: timed-out
    02:40:55.123  12/align/3      completion
    02:40:56.123  12/align/3      cancelled by request: wrong\x1b input
    02:40:57.123  12/align/3      skipped because 12/align/1 failed
    02:40:58.123  12/align/3      finished: skipped
    02:40:59.123  12/align/3      priority very-high
    02:41:00.123  12              suspended
    02:41:01.123  12              resumed
    02:41:02.123  12              failed
    02:41:03.123  queue io        created: at most 4, utility, suspended, on workers with disk=ssd|nvme
    02:41:04.123  queue io        removed
    02:41:05.123  worker w4       joined
    02:41:06.123  worker w4       lost
    02:41:07.123  worker w4       given no operations of 12/align: no /data
    02:41:08.123  worker w4       given operations of 12/align again
    02:41:09.123  worker w4       set aside: no \x1b disk
    02:41:10.123  worker w4       given operations again
    """#,
    "drawing ascii": #"""
    12 rnaseq  running  424/804

      +-----------+   +-----------+
      | index     |   | fetch     |
      | succeeded |   | succeeded |
      +-----+-----+   +-----+-----+
            +-------+       |
                    +-------+
          +---------+---------+
          | align [400]       |
          | 302/400, 2 failed |
          +---------+---------+
          +---------+---------+
     +----+----+  +-----------+----------+
     | merge   |  | stats [400]          |
     | waiting |  | 120/400, 4 executing |
     +----+----+  +-----------+----------+
          +---------+         |
                    +---------+
               +----+----+
               | report  |
               | waiting |
               +---------+
    """#,
    "drawing too narrow": #"""
    12 rnaseq  running  424/804

      1  index       succeeded
         fetch       succeeded
      2  align [40…  302/400, 2 f…
      3  merge       waiting  aft…
         stats [40…  120/400, 4 e…
      4  report      waiting  aft…
    """#,
    "stage table ascii": #"""
    12 rnaseq  running  424/804  1m 23s
      index        ###################      1/1  succeeded
      fetch        ###################      1/1  succeeded
      align [400]  ##############x+...  302/400  2 failed, 8 executing, 90 waiting
      merge        ...................      0/1  1 waiting
      stats [400]  #####+.............  120/400  4 executing, 6 ready, 270 waiting
      report       ...................      0/1  1 waiting
    """#,
    "colour": #"""
    \#u{1b}[2mGRAPH\#u{1b}[0m  \#u{1b}[2mNAME\#u{1b}[0m              \#u{1b}[2mSTATE\#u{1b}[0m                  \#u{1b}[2mDONE\#u{1b}[0m  \#u{1b}[2mFAILED\#u{1b}[0m  \#u{1b}[2mSUBMITTED\#u{1b}[0m   \#u{1b}[2mTOOK\#u{1b}[0m
        7  \#u{1b}[1mゲノム解析\x1b[…\#u{1b}[0m  \#u{1b}[31mfailed\#u{1b}[0m  1,234,570/1,234,570       \#u{1b}[31m3\#u{1b}[0m  \#u{1b}[2m1m 23s ago\#u{1b}[0m  2h 30m
    \#u{1b}[1m12 rnaseq\#u{1b}[0m  \#u{1b}[36mrunning\#u{1b}[0m  2/4  1m 23s
      a  \#u{1b}[32m████████████████████████\#u{1b}[0m  1/1  \#u{1b}[32msucceeded\#u{1b}[0m
      b  \#u{1b}[36m▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓\#u{1b}[0m  0/1  \#u{1b}[36m1 executing\#u{1b}[0m
      c  \#u{1b}[31m▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒\#u{1b}[0m  1/1  \#u{1b}[31m1 failed\#u{1b}[0m
      d  \#u{1b}[2m························\#u{1b}[0m  0/1  \#u{1b}[2m1 waiting\#u{1b}[0m
    \#u{1b}[1m12 rnaseq\#u{1b}[0m  \#u{1b}[36mrunning\#u{1b}[0m  2/4

            \#u{1b}[2m┌───────────┐\#u{1b}[0m
            \#u{1b}[2m│\#u{1b}[0m \#u{1b}[1ma\#u{1b}[0m         \#u{1b}[2m│\#u{1b}[0m
            \#u{1b}[2m│\#u{1b}[0m \#u{1b}[32msucceeded\#u{1b}[0m \#u{1b}[2m│\#u{1b}[0m
            \#u{1b}[2m└─────┬─────┘\#u{1b}[0m
           \#u{1b}[2m┌──────┴──────┐\#u{1b}[0m
     \#u{1b}[2m┌─────┴─────┐\#u{1b}[0m  \#u{1b}[2m┌────┴───┐\#u{1b}[0m
     \#u{1b}[2m│\#u{1b}[0m \#u{1b}[1mb\#u{1b}[0m         \#u{1b}[2m│\#u{1b}[0m  \#u{1b}[2m│\#u{1b}[0m \#u{1b}[1mc\#u{1b}[0m      \#u{1b}[2m│\#u{1b}[0m
     \#u{1b}[2m│\#u{1b}[0m \#u{1b}[36mexecuting\#u{1b}[0m \#u{1b}[2m│\#u{1b}[0m  \#u{1b}[2m│\#u{1b}[0m \#u{1b}[31mfailed\#u{1b}[0m \#u{1b}[2m│\#u{1b}[0m
     \#u{1b}[2m└─────┬─────┘\#u{1b}[0m  \#u{1b}[2m└────┬───┘\#u{1b}[0m
           \#u{1b}[2m└──────┐\#u{1b}[0m      \#u{1b}[2m│\#u{1b}[0m
                  \#u{1b}[2m├──────┘\#u{1b}[0m
             \#u{1b}[2m┌────┴────┐\#u{1b}[0m
             \#u{1b}[2m│\#u{1b}[0m \#u{1b}[1md\#u{1b}[0m       \#u{1b}[2m│\#u{1b}[0m
             \#u{1b}[2m│\#u{1b}[0m \#u{1b}[2mwaiting\#u{1b}[0m \#u{1b}[2m│\#u{1b}[0m
             \#u{1b}[2m└─────────┘\#u{1b}[0m
    """#,
    "dot": #"""
    digraph "graph 12" {
      label="rnaseq";
      node [shape=box, style="rounded,filled", fontname="Helvetica"];
      s0 [label="a\"b\\<&>\nsucceeded", fillcolor="#d8f0dc"];
      s1 [label="c\\x1b[31m [2]\n2/2 skipped", fillcolor="#fdf0cf"];
      s0 -> s1;
    }

    """#,
    "mermaid": #"""
    flowchart TD
      s0["index<br/>succeeded"]
      s1["fetch<br/>succeeded"]
      s2["align [400]<br/>302/400, 2 failed"]
      s3["merge<br/>waiting"]
      s4["stats [400]<br/>120/400, 4 executing"]
      s5["report<br/>waiting"]
      s0 --> s2
      s1 --> s2
      s2 --> s3
      s2 -. same index .-> s4
      s3 --> s5
      s4 -. finished .-> s5
      classDef good fill:#d8f0dc,stroke:#2e7d43
      class s0,s1 good
      classDef bad fill:#fbdcdc,stroke:#b3261e
      class s2 bad
      classDef active fill:#d9e9fb,stroke:#1f66b5
      class s4 active
      classDef quiet fill:#f2f2f2,stroke:#777777
      class s3,s5 quiet

    """#,
    "json events": #"""
    {"sequence":1,"time":"2026-11-21T01:40:48.123Z","graph":12,"kind":"graph","value":"submitted","operations":804}
    {"sequence":2,"time":"2026-11-21T01:40:49.123Z","operation":"12/align/3","graph":12,"operation_sequence":7,"kind":"is_ready","value":true}
    {"sequence":3,"time":"2026-11-21T01:40:50.123Z","operation":"12/align/3","graph":12,"operation_sequence":7,"kind":"is_executing","value":true}
    {"sequence":4,"time":"2026-11-21T01:40:51.123Z","operation":"12/align/3","graph":12,"operation_sequence":7,"kind":"attempt","value":"started","attempt":1,"worker":"w4"}
    {"sequence":5,"time":"2026-11-21T01:40:52.123Z","operation":"12/align/3","graph":12,"operation_sequence":7,"kind":"attempt","value":"ended","attempt":1,"reason":"timeout"}
    {"sequence":6,"time":"2026-11-21T01:40:53.123Z","operation":"12/align/3","graph":12,"operation_sequence":7,"kind":"is_executing","value":false}
    {"sequence":7,"time":"2026-11-21T01:40:54.123Z","operation":"12/align/3","graph":12,"operation_sequence":7,"kind":"is_finished","value":true,"outcome":"failed","state":"timed-out"}
    {"sequence":8,"time":"2026-11-21T01:40:55.123Z","operation":"12/align/3","graph":12,"operation_sequence":7,"kind":"completion","value":true}
    {"sequence":9,"time":"2026-11-21T01:40:56.123Z","operation":"12/align/3","graph":12,"operation_sequence":7,"kind":"is_cancelled","value":true,"reason":"request","reason_detail":"wrong\u001b input"}
    {"sequence":10,"time":"2026-11-21T01:40:57.123Z","operation":"12/align/3","graph":12,"operation_sequence":7,"kind":"is_cancelled","value":true,"reason":"dependency","reason_detail":"12/align/1 failed"}
    {"sequence":11,"time":"2026-11-21T01:40:58.123Z","operation":"12/align/3","graph":12,"operation_sequence":7,"kind":"is_finished","value":true,"outcome":"cancelled","state":"skipped"}
    {"sequence":12,"time":"2026-11-21T01:40:59.123Z","operation":"12/align/3","graph":12,"operation_sequence":7,"kind":"priority","value":"very-high"}
    {"sequence":13,"time":"2026-11-21T01:41:00.123Z","graph":12,"kind":"graph","value":"suspended"}
    {"sequence":14,"time":"2026-11-21T01:41:01.123Z","graph":12,"kind":"graph","value":"resumed"}
    {"sequence":15,"time":"2026-11-21T01:41:02.123Z","graph":12,"kind":"graph","value":"failed"}
    {"sequence":16,"time":"2026-11-21T01:41:03.123Z","queue":"io","kind":"queue","value":"created","qos":"utility","max_concurrent":4,"is_suspended":true,"require":{"disk":["ssd","nvme"]}}
    {"sequence":17,"time":"2026-11-21T01:41:04.123Z","queue":"io","kind":"queue","value":"removed"}
    {"sequence":18,"time":"2026-11-21T01:41:05.123Z","worker":"w4","kind":"worker","value":"joined"}
    {"sequence":19,"time":"2026-11-21T01:41:06.123Z","worker":"w4","kind":"worker","value":"lost"}
    {"sequence":20,"time":"2026-11-21T01:41:07.123Z","worker":"w4","kind":"worker","value":"set_aside","stage":"12/align","reason":"no /data"}
    {"sequence":21,"time":"2026-11-21T01:41:08.123Z","worker":"w4","kind":"worker","value":"resumed","stage":"12/align"}
    {"sequence":22,"time":"2026-11-21T01:41:09.123Z","worker":"w4","kind":"worker","value":"set_aside","reason":"no \u001b disk"}
    {"sequence":23,"time":"2026-11-21T01:41:10.123Z","worker":"w4","kind":"worker","value":"resumed"}
    """#,
  ]
}
