// The style of a report: light and dark, for screens of any width and for A4. Nothing is fetched.

let reportStyle = """
  :root { color-scheme: light dark; --ink: #1b1f24; --faint: #5b6470; --paper: #ffffff;
    --line: #d8dde3; --panel: #f5f7f9; --running: #1f66b5; --waiting: #c9ced6;
    --succeeded: #2e7d43; --failed: #b3261e; --retried: #c77700; --cancelled: #8a8f98; }
  @media (prefers-color-scheme: dark) { :root { --ink: #e6e9ed; --faint: #a3acb8;
    --paper: #14171b; --line: #343a42; --panel: #1d2127; --running: #5aa2ee; --waiting: #4a525c;
    --succeeded: #58b571; --failed: #ef6a62; --retried: #e5a23d; --cancelled: #7b828c; } }
  * { box-sizing: border-box; }
  body { margin: 0 auto; max-width: 60rem; padding: 1.5rem 1rem 3rem; color: var(--ink);
    background: var(--paper); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Helvetica,
    Arial, sans-serif; }
  h1 { font-size: 1.6rem; margin: 0 0 .25rem; overflow-wrap: anywhere; }
  h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; padding-bottom: .25rem;
    border-bottom: 1px solid var(--line); }
  h3 { font-size: 1rem; margin: 1.2rem 0 .3rem; overflow-wrap: anywhere; }
  p { margin: .4rem 0; } .faint { color: var(--faint); }
  .state { font-weight: 600; } .state.good { color: var(--succeeded); }
  .state.bad { color: var(--failed); } .state.other { color: var(--running); }
  dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: .8rem 0; }
  dt { color: var(--faint); } dd { margin: 0; overflow-wrap: anywhere; }
  .scroll { overflow-x: auto; }
  table { border-collapse: collapse; width: 100%; font-size: .9rem; }
  th, td { text-align: left; padding: .25rem .6rem .25rem 0; border-bottom: 1px solid var(--line);
    vertical-align: top; overflow-wrap: anywhere; }
  th { font-weight: 600; color: var(--faint); white-space: nowrap; } .number { text-align: right;
    font-variant-numeric: tabular-nums; }
  td.number { white-space: nowrap; } td:first-child { min-width: 7rem; }
  pre { background: var(--panel); border: 1px solid var(--line); border-radius: 4px;
    padding: .6rem .8rem; overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere;
    font: 13px/1.45 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; margin: .4rem 0; }
  figure { margin: .8rem 0; } figcaption { color: var(--faint); font-size: .85rem; }
  figure svg { display: block; width: 100%; height: auto; }
  figure.graph { background: #ffffff; border-radius: 4px; overflow-x: auto; }
  figure.graph svg { width: auto; max-width: 100%; margin: 0 auto; }
  .plot text { fill: var(--faint); font-size: 11px; }
  .grid { stroke: var(--line); } .axis { stroke: var(--faint); }
  .running { fill: var(--running); } .waiting { fill: var(--waiting); }
  .succeeded { fill: var(--succeeded); } .failed { fill: var(--failed); }
  .retried { fill: var(--retried); } .cancelled { fill: var(--cancelled); }
  .asked { fill: none; stroke: var(--faint); }
  .shade1 { fill: var(--running); opacity: .2; } .shade2 { fill: var(--running); opacity: .4; }
  .shade3 { fill: var(--running); opacity: .6; } .shade4 { fill: var(--running); opacity: .8; }
  .shade5 { fill: var(--running); }
  .key { display: inline-block; width: .8em; height: .8em; margin: 0 .3em 0 .9em; }
  .key.running { background: var(--running); } .key.waiting { background: var(--waiting); }
  .key.succeeded { background: var(--succeeded); } .key.failed { background: var(--failed); }
  .key.retried { background: var(--retried); } .key.cancelled { background: var(--cancelled); }
  .columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(18rem, 1fr));
    gap: 0 1.5rem; }
  @media screen and (max-width: 40rem) { figure { overflow-x: auto; }
    .plot { min-width: 36rem; } }
  @page { size: A4; margin: 16mm 14mm; }
  @media print { :root { --ink: #000000; --faint: #444444; --paper: #ffffff; --line: #bbbbbb;
      --panel: #f5f5f5; --running: #1f66b5; --waiting: #c9ced6; --succeeded: #2e7d43;
      --failed: #b3261e; --retried: #c77700; --cancelled: #8a8f98; }
    body { max-width: none; padding: 0; font-size: 10pt; }
    * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
    .scroll { overflow: visible; } table { font-size: 8.5pt; }
    h2, h3 { break-after: avoid; } figure, tr { break-inside: avoid; } pre { font-size: 8.5pt; } }
  """
