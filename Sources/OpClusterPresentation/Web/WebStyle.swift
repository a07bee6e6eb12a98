// What makes the pages look and live: their style, which begins with that of reports, their script
// and their sign. Embedded, so that one program serves them and nothing is fetched from elsewhere.

public enum WebAssets {
  public static let style =
    reportStyle + """

      body { max-width: 76rem; padding-top: .5rem; }
      header { display: flex; flex-wrap: wrap; gap: .25rem 1.5rem; align-items: baseline;
        justify-content: space-between; border-bottom: 1px solid var(--line); }
      nav { display: flex; gap: 1.25rem; } nav a { padding: .4rem 0; text-decoration: none; }
      nav a[aria-current] { font-weight: 600; color: var(--ink);
        border-bottom: 2px solid var(--running); }
      a { color: var(--running); } a:focus-visible, button:focus-visible, summary:focus-visible,
      .rows:focus-visible { outline: 2px solid var(--running); outline-offset: 2px; }
      .skip { position: absolute; left: -99rem; } .skip:focus { left: 1rem; top: .25rem; z-index: 2;
        background: var(--paper); padding: .3rem .6rem; }
      .hidden { position: absolute; width: 1px; height: 1px; overflow: hidden;
        clip-path: inset(50%); white-space: nowrap; }
      .panel:empty { display: none; } .panel h1 { margin-top: 1rem; }
      .note { background: var(--panel); border-left: 3px solid var(--running);
        padding: .4rem .8rem; margin-top: .8rem; }
      .offline { color: var(--failed); font-weight: 600; }
      .figures { display: flex; flex-wrap: wrap; gap: .5rem 2.5rem; list-style: none; padding: 0;
        margin: 1.2rem 0 0; color: var(--faint); }
      .figures strong { display: block; font-size: 1.6rem; color: var(--ink); line-height: 1.2;
        font-variant-numeric: tabular-nums; }
      :root { --warning: #8a5200; }
      @media (prefers-color-scheme: dark) { :root { --warning: #e5a23d; } }
      .state { white-space: nowrap; } .state.warning { color: var(--warning); }
      .state.plain { color: var(--faint); } h1 .state { font-size: 1rem; margin-left: .5rem; }
      .bar { display: block; width: 100%; height: .55rem; background: var(--waiting);
        border-radius: 2px; } .wide { margin: .6rem 0; } .wide .bar { height: .8rem; }
      td.progress { min-width: 7rem; vertical-align: middle; }
      .partial { fill: var(--succeeded); opacity: .45; } .ready { fill: var(--faint); opacity: .6; }
      .key.ready { background: var(--faint); opacity: .6; }
      .heat { max-width: 100%; height: auto; display: block; cursor: pointer; }
      .keys { font-size: .85rem; color: var(--faint); }
      .workers { display: grid; grid-template-columns: repeat(auto-fill, minmax(13rem, 1fr));
        gap: .6rem 1.2rem; list-style: none; padding: 0; } .workers .bar { margin: .15rem 0; }
      .workers .name { font-weight: 600; overflow-wrap: anywhere; }
      .workers .faint { font-size: .85rem; }
      .actions { display: flex; flex-wrap: wrap; gap: .5rem; align-items: flex-start;
        margin: .8rem 0; } form { margin: 0; display: inline-flex; gap: .4rem; flex-wrap: wrap;
        align-items: center; } .filter { gap: .5rem 1rem; margin: .6rem 0; }
      button, .button, select, input[type=search], input[type=number] { font: inherit;
        color: var(--ink); background: var(--panel); border: 1px solid var(--line);
        border-radius: 4px; padding: .25rem .7rem; } button, .button { cursor: pointer; }
      input[type=number] { width: 6.5rem; }
      button:hover, .button:hover { border-color: var(--faint); }
      button.bad { color: var(--failed); border-color: var(--failed); }
      .question { max-width: 26rem; } .question summary { display: inline-block; list-style: none; }
      .question div { border: 1px solid var(--line); border-radius: 4px; padding: .5rem .8rem;
        margin-top: .4rem; }
      .waits { list-style: none; padding: 0; } .waits li { margin: .5rem 0;
        overflow-wrap: anywhere; }
      .rows { position: relative; height: min(32rem, 70vh); overflow-y: auto;
        border: 1px solid var(--line); border-radius: 4px; } .space { width: 1px; }
      .chunk { width: 100%; } .chunk.placed { position: absolute; left: 0; }
      .row { display: grid; grid-template-columns: minmax(9rem, 2fr) 6rem minmax(5rem, 1fr) 5rem
          minmax(6rem, 3fr); gap: .75rem; height: 30px; line-height: 30px; padding: 0 .6rem;
        border-bottom: 1px solid var(--line); font-size: .9rem; }
      .row span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
      .log { max-height: 28rem; overflow-y: auto; }
      .log:empty::before { content: "nothing yet"; color: var(--faint); }
      @media (max-width: 40rem) { .row { grid-template-columns: minmax(7rem, 2fr) 5.5rem 4rem;
          gap: .5rem; } .row span:nth-child(3), .row span:nth-child(5) { display: none; } }
      @media print { nav, .actions, .filter, .skip { display: none; } .rows, .log { height: auto;
          max-height: none; overflow: visible; } .chunk.placed { position: static; } }
      """

  public static let icon = """
    <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><g fill="none" stroke="#1f66b5" \
    stroke-width="1.4"><path d="M8 4.5v3M8 7.5 4 11M8 7.5l4 3.5"/><circle cx="8" cy="3" r="1.7"/>\
    <circle cx="3.4" cy="12.4" r="1.7"/><circle cx="12.6" cy="12.4" r="1.7"/></g></svg>
    """
}
