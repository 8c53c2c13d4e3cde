"""How the report's page looks, in light and in dark. Rules: plain CSS; nothing is fetched."""

from __future__ import annotations

STYLE = """
:root{color-scheme:light dark;--ink:#1d2733;--soft:#5a6672;--line:#d5dbe1;
--ground:#fff;--card:#f6f8fa;
--good:#1b7f4d;--bad:#b3261e;--none:#6a7480;--band:#e0a80033}
@media(prefers-color-scheme:dark){:root{--ink:#e4e9ee;--soft:#a3adb8;--line:#38424d;
--ground:#14191f;
--card:#1c232b;--good:#5fc998;--bad:#ff8b80;--none:#9aa5b1;--band:#ffd24a2e}}
body{margin:0 auto;max-width:1200px;padding:24px 20px 60px;background:var(--ground);
color:var(--ink);font:15px/1.5 system-ui,sans-serif}
h1{font-size:24px;margin:0 0 4px}h2{font-size:17px;margin:34px 0 8px}
p.about{color:var(--soft);margin:0 0 14px}
code{background:var(--card);border:1px solid var(--line);border-radius:4px;padding:1px 6px;
font-size:13px}
.end{display:inline-block;border-radius:6px;padding:5px 14px;color:var(--ground);font-weight:600}
.held{color:var(--good)}.broken{color:var(--bad)}.nottried{color:var(--none)}
.end.passed{background:var(--good)}.end.failed{background:var(--bad)}
table{border-collapse:collapse;width:100%}
th,td{text-align:left;vertical-align:top;padding:6px 10px 6px 0;border-bottom:1px solid var(--line)}
th{color:var(--soft);font-weight:500;font-size:13px}
td,code,li{overflow-wrap:anywhere}td.outcome{overflow-wrap:normal;font-weight:600}
td.at,td:first-child{white-space:nowrap}
td small{color:var(--soft);display:block}
td ul{margin:4px 0 0;padding-left:18px;color:var(--bad)}
svg{width:100%;height:auto;background:var(--card);border:1px solid var(--line);border-radius:8px}
svg text{font:11px system-ui,sans-serif;fill:var(--soft)}
text.name{text-anchor:end}text.time{text-anchor:middle}
svg text.what{fill:var(--ink);font-weight:600}
.tick{stroke:var(--line)}.band{fill:var(--band)}.pause{fill:var(--bad)}
.restarted path{fill:var(--bad)}.leaving path{fill:var(--soft)}
polyline{fill:none;stroke-width:1.6}.lag{stroke:#3b7dd8}.size{stroke:#d9822b}
ul.legend{list-style:none;display:flex;flex-wrap:wrap;gap:4px 18px;padding:0;
margin:8px 0;font-size:13px}
ul.legend i{display:inline-block;width:12px;height:12px;border-radius:3px;margin-right:6px;
vertical-align:-1px}
"""
