/** Styles of what pages are made of: figures, bars, charts, badges, lists. */
export const parts = `
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 8rem), 1fr)); gap: var(--s4) var(--s5); margin: 0; }
.figures > div { min-width: 0; }
.figures dt { color: var(--muted); font-size: var(--text-2); line-height: var(--line-2); }
.figures dd { margin: 2px 0 0; font-size: 1.25rem; font-weight: 600; letter-spacing: -.02em; line-height: 1.5625rem;
  font-variant-numeric: tabular-nums; }
.figures dd a:not(:hover) { text-decoration: none; }
.counted { color: inherit; }
.counted.over { color: var(--over); } .counted.near { color: var(--near); }
.figures dd .small { display: block; font-weight: 400; letter-spacing: 0; margin-top: var(--s1); }
.values { margin: 0; }
.values > div { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 var(--s4); padding: var(--s2) 0; border-top: 1px solid var(--border); }
.values > div:first-child { border-top: 0; padding-top: 0; }
.values:last-child > div:last-child { padding-bottom: 0; }
.values dt { color: var(--muted); }
.values dd { margin: 0; font-weight: 550; font-variant-numeric: tabular-nums; }
.values dd .small { font-weight: 400; }
.fullness { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 var(--s2); margin: 0 0 var(--s3); max-width: none; }
.fullness strong { font-size: var(--text-6); line-height: 2.5rem; font-weight: 650; letter-spacing: -.035em; font-variant-numeric: tabular-nums; }
.fullness .state { margin-inline-start: auto; align-self: center; }
.pace { display: flex; flex-wrap: wrap; align-items: end; gap: var(--s2) var(--s8); margin-top: var(--s5); padding-top: var(--s4); border-top: 1px solid var(--border); }
.pace > .figures:only-child { flex: 1; }
.pace > p { flex: 1 1 16rem; margin: 0; }
.secret { display: inline-block; font-size: var(--text-4); padding: var(--s2) var(--s3); user-select: all; }
.state { display: inline-flex; align-items: baseline; gap: .45em; padding: .125rem .625rem; border-radius: 99rem; font-size: var(--text-1); line-height: var(--line-1);
  font-weight: 550; background: var(--surface); color: var(--muted); max-width: 100%; overflow-wrap: normal; }
.state::before { content: ""; flex: none; align-self: center; width: .5em; height: .5em; border-radius: 50%; background: currentColor; }
.state.over { color: var(--over); background: var(--over-background); }
.state.near { color: var(--near); background: var(--near-background); }
/* Nothing to do: only the dot has a color. */
.state.within::before { background: var(--success); }
.state.unlimited::before { background: none; border: 1.5px solid currentColor; }
.tag { display: inline-block; padding: 0 .5rem; border: 1px solid var(--border); border-radius: 99rem; font-size: var(--text-1);
  line-height: var(--line-1); color: var(--muted); white-space: nowrap; max-width: 100%; overflow: clip; text-overflow: ellipsis; }

.bar { display: block; width: 100%; height: .875rem; border-radius: 99rem; margin: var(--s2) 0; }
.bar.thin { height: .5rem; }
td .bar.thin { height: .3125rem; }
.track { fill: var(--track); }
.halo { stroke: var(--card); stroke-width: 6; }
.limit { stroke: var(--limit); stroke-width: 2; }
.limit-mark { display: block; width: 100%; height: 1.25rem; margin-top: calc(-1 * var(--s2)); overflow: visible; font-size: var(--text-1); }
.limit-mark line { stroke: var(--limit); stroke-width: 2; }
.limit-mark text { fill: var(--muted); }
.elsewhere { margin-inline-start: var(--s1); color: var(--muted); }
p > .elsewhere { margin-inline-start: 0; }
.part0 { fill: var(--part0); } .part1 { fill: var(--part1); } .part2 { fill: var(--part2); }
.part3 { fill: var(--part3); } .part4 { fill: var(--part4); } .part5 { fill: var(--part5); }
.bar rect[class^=part] { stroke: var(--card); stroke-width: 1.5; }
.swatch { width: .65em; height: .65em; margin-inline-end: .5em; border-radius: 99rem; vertical-align: .02em; flex: none; }
.legend, .statuses, .plain { list-style: none; padding: 0; margin: 0; }
.legend { display: flex; flex-wrap: wrap; gap: var(--s1) var(--s5); margin-top: var(--s3); }
.legend data { color: var(--muted); font-variant-numeric: tabular-nums; }
.statuses { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), 1fr)); gap: var(--s5) var(--s8); }
.line { display: flex; align-items: baseline; justify-content: space-between; gap: var(--s1) var(--s4); flex-wrap: wrap; }
.line > :last-child:not(:first-child) { text-align: end; }
.rows > li { margin-inline: calc(-1 * var(--pad)); padding: .75rem var(--pad); border-top: 1px solid var(--border); align-items: center; }
.rows:not(:last-child) > li:last-child { border-bottom: 1px solid var(--border); }
.rows > li:hover { background: var(--tint); }
:is(section, .card):has(> .rows:last-child, > form:last-child > .rows:last-child) { overflow: clip; padding-bottom: 0; }
.rows > li.line > .named:first-child { flex: 1 1 min(13.25rem, 100%); }

figure { margin: 0; container-type: inline-size; }
@container (max-width: 48rem) { .days > .wide { display: none; } }
@container (max-width: 18rem) { .days > :not(:first-child, :last-child) { display: none; } }
.plot { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: 0 var(--s3); margin: var(--s5) 0 var(--s3); }
.plot .ticks { display: flex; flex-direction: column; justify-content: space-between; margin: -.4375rem 0; text-align: end;
  color: var(--muted); font-size: var(--text-1); line-height: .875rem; font-variant-numeric: tabular-nums; }
.plot .days { grid-column: 2; display: flex; justify-content: space-between; color: var(--muted); font-size: var(--text-1); line-height: var(--line-1); margin-top: var(--s1); font-variant-numeric: tabular-nums; }
.days > span { display: flex; justify-content: center; width: 0; }
.days.each > span { flex: 1; }
.days:not(.each) > :first-child { justify-content: start; }
.days:not(.each) > :last-child { justify-content: end; }
.plot figcaption { grid-column: 1 / -1; }
.chart { display: block; width: 100%; height: 13rem; border-radius: 2px; }
.chart line { vector-effect: non-scaling-stroke; }
.chart .grid { stroke: var(--border); stroke-width: 1; }
.chart .area { fill-opacity: .3; }
@media (prefers-color-scheme: dark) { .chart .area { fill-opacity: .6; } }
.chart .edge { fill: none; stroke-width: 1.75; vector-effect: non-scaling-stroke; stroke-linejoin: round; }
.edge.part0 { stroke: var(--part0); } .edge.part1 { stroke: var(--part1); } .edge.part2 { stroke: var(--part2); } .edge.part3 { stroke: var(--part3); } .edge.part4 { stroke: var(--part4); } .edge.part5 { stroke: var(--part5); }
.chart .limit { stroke-dasharray: 6 4; stroke-width: 1.5; }
.chart .halo { stroke-width: 4; }
.chart .hit { fill: var(--text); fill-opacity: 0; }
.chart .hit:hover, .chart .hit.chosen { fill-opacity: .1; }
.chart-value { font-variant-numeric: tabular-nums; }
.choices { display: inline-flex; flex-wrap: wrap; gap: 2px; padding: 2px; background: var(--surface); border: 1px solid var(--border); border-radius: var(--radius); }
.choices a { padding: .1875rem var(--s3); border-radius: calc(var(--radius) - 3px); color: var(--muted); text-decoration: none; font-size: var(--text-2); line-height: var(--line-2); font-weight: 500; }
.choices a:hover { color: var(--text); }
.choices a[aria-current] { background: var(--card); color: var(--text); box-shadow: 0 1px 2px rgb(15 23 42 / 12%); }
.legend + details { margin-top: var(--s4); }
figcaption { margin-top: var(--s2); }
summary { cursor: pointer; color: var(--link); padding: var(--s1) 0; width: fit-content; border-radius: calc(var(--radius) / 2); }
details[open] > summary { margin-bottom: var(--s2); }
.why { margin-top: var(--s1); }
:is(.rows, td) .why { margin: 0; }
.more { margin-top: var(--s4); }
.inline.assign { margin: 0; padding-top: var(--s4); border-top: 1px solid var(--border); }
/* What can be done with the selected rows stays in sight. */
@media (min-width: 40.01rem) {
  form:has(td.check :checked) > :is(.assign, .buttons) { position: sticky; bottom: 0; padding-block: var(--s3); background: var(--card); border-top: 1px solid var(--border); }
}
.steps { list-style: none; counter-reset: step; margin: 0; padding: 0; display: grid; gap: var(--s3); }
.steps li { counter-increment: step; display: flex; gap: var(--s3); align-items: center; }
.steps li::before { content: counter(step); flex: none; width: 1.625rem; line-height: 1.5rem; border: 1px solid var(--border); border-radius: 50%;
  text-align: center; font-size: var(--text-2); font-weight: 600; color: var(--muted); font-variant-numeric: tabular-nums; }
.steps s { color: var(--muted); }
.steps .done::before { content: "✓"; color: var(--success); background: var(--success-background); border-color: transparent; }
@media (max-width: 40rem) {
  .line > :last-child:not(:first-child) { text-align: start; }
  .rows > .line > .small:last-child:not(button) { flex-basis: 100%; }
  /* A button stands beside the name, and the facts below it have the whole width. */
  .rows > .line:has(> .named + :is(form, button, .tag, .issue)) { display: grid; grid-template-columns: auto minmax(0, 1fr) auto; gap: 0 var(--s3); align-items: baseline; }
  .rows > .line:has(> .named + :is(form, button, .tag, .issue)) > .named, .rows > .line > .named:has(+ :is(form, button, .tag, .issue)) > div { display: contents; }
  /* High enough to press, above a fact that is a link, too. */
  .rows > .line > .named:has(+ .issue) > div > a { padding-block: .0625rem; }
  .rows > .line > .named:has(+ :is(form, button, .tag, .issue)) > div > .small { grid-column: 2 / -1; }
  .rows > .line > .named:has(+ :is(form, button)) > div > :not(.small) + .small { margin-top: var(--s1); }
  .rows > .line > .named + :is(form, button, .tag, .issue) { grid-area: 1 / 3; }
  .rows > .line > .named + :is(form, button) { margin-block: calc(-1 * var(--s1)); }
  /* A state stands beside the name, and what explains it below. */
  .rows > .line:has(> .whole + .state) { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: var(--s1) var(--s3); align-items: baseline; }
  .rows > .line > .whole:has(+ .state) { display: contents; }
  .rows > .line > .whole + .state { grid-area: 1 / 2; }
  .rows > .line > .whole > .why { grid-area: 2 / 1 / auto / -1; }
  .rows > .line > .named + .small:not(button) { padding-inline-start: calc(16px + var(--s3)); }
  /* Two links on neighboring lines are far enough from each other to press. */
  .rows > .line > .small:has(a) { line-height: var(--line-4); }
  .days.each > :first-child { justify-content: start; }
  .days.each > :last-child { justify-content: end; }
  .fullness .state { margin: var(--s2) 0 0; }
  .legend { display: grid; }
  .legend:not(:has(data)) { font-size: var(--text-2); line-height: var(--line-2); grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr)); }
  .legend li { display: flex; align-items: baseline; }
  .legend data { margin-inline-start: auto; }
}
`
