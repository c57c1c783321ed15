/**
 * Tokens, base styles, and the frame of every page: header, breadcrumbs, title, tabs, cards. `--s1` to `--s8`
 * are steps of space, `--text-1` to `--text-6` those of the size of text, and `--pad` is the space inside a
 * card, up to whose edges tables and rows go. `--line-1` to `--line-4` are the heights of their lines. All
 * are whole pixels, as are the paddings of links in a text: browsers round the place of what is between two
 * pixels, and not always in the same direction for two words of a line.
 */
export const layout = `
:root { --s1: var(--space); --s2: calc(var(--space) * 2); --s3: calc(var(--space) * 3); --s4: calc(var(--space) * 4);
  --s5: calc(var(--space) * 5); --s6: calc(var(--space) * 6); --s8: calc(var(--space) * 8);
  --text-1: .75rem; --text-2: .8125rem; --text-3: .875rem; --text-4: 1rem; --text-5: 1.5rem; --text-6: 2.25rem;
  --line-1: 1.125rem; --line-2: 1.25rem; --line-3: 1.375rem; --line-4: 1.5rem;
  --pad: var(--s5); --control: 2.25rem; --card-radius: calc(var(--radius) * 1.5); --gutter: max(var(--s4), calc((100% - var(--width)) / 2)); --tab: 2.625rem;
  --shadow: 0 1px 2px rgb(15 23 42 / 5%), 0 1px 1px rgb(15 23 42 / 3%); --raised: 0 12px 32px rgb(15 23 42 / 18%);
  --tint: color-mix(in srgb, var(--surface) 55%, transparent);
  --mono: ui-monospace, SFMono-Regular, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace; }
*, ::before, ::after { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--background); color: var(--text); overflow-wrap: anywhere;
  font: var(--text-3)/var(--line-3) var(--font); -webkit-font-smoothing: antialiased; }
/* Beside other text, color alone does not tell a link; one that stands alone needs no line. */
a { color: var(--link); text-decoration-color: color-mix(in srgb, currentColor 35%, transparent); text-underline-offset: .2em; }
:is(.section-head > a, .line > a, .strong, td:first-child > a:first-child, td.wide > a, .named > div > a:first-child, .entries a, .links a, .steps a, .facts > li > a, .facts > li > .person > a, :is(h1, h2) > a):not(:hover) { text-decoration: none; }
a:hover { text-decoration-color: currentColor; }
/* High enough to press, also where two stand on neighboring lines. */
.small a { padding-block: .1875rem; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; border-radius: 2px; }
main:focus { outline: none; }
p { margin: var(--s2) 0; max-width: 75ch; text-wrap: pretty; }
ul, ol { padding-inline-start: var(--s5); }
h1, h2, h3 { text-wrap: balance; margin: 0; }
h1 { font-size: var(--text-5); line-height: 2rem; letter-spacing: -.02em; font-weight: 650; }
h2 { font-size: var(--text-4); line-height: var(--line-3); letter-spacing: -.01em; font-weight: 600; }
h3 { font-size: var(--text-3); line-height: var(--line-2); font-weight: 600; }
.unbroken, data { white-space: nowrap; }
pre { font: .9em/1.5 var(--mono); }
code, kbd { font: .9em/1 var(--mono); }
code { background: var(--surface); padding: .125rem .4em; border-radius: calc(var(--radius) / 2); }
.small, .hint, figcaption, caption { font-size: var(--text-2); line-height: var(--line-2); }
.small, .hint, .subtitle, figcaption, caption, .muted { color: var(--muted); }
.subtitle { margin: var(--s1) 0 0; }
.hidden, .skip:not(:focus) { position: absolute; width: 1px; height: 1px; margin: -1px; overflow: hidden;
  clip-path: inset(50%); white-space: nowrap; }
.skip:focus { position: absolute; top: 0; left: 0; z-index: 2; padding: var(--s3) var(--s4); background: var(--card); }
/* Facts on one line, with dots between them; of a fact that begins another line, the dot is cut off. */
.dots { display: inline-flex; flex-wrap: wrap; column-gap: 1.1em; max-width: 100%; overflow-x: clip; vertical-align: bottom; }
.dots > span { position: relative; min-width: 0; }
/* Easier to hit, without more space between lines. */
.dots a { padding-block: .3125rem; }
.dots > span:has(> .slim), .dots > span:has(> .slim) + span > i { display: none; }
.dots i { position: absolute; inset-inline-end: 100%; width: 1.1em; text-align: center; font-style: normal; }

header { display: flex; flex-wrap: wrap; align-items: center; gap: 0 var(--s6);
  padding: 0 var(--gutter); background: var(--header); color: var(--header-text); border-bottom: 1px solid var(--border); }
header a, header summary { color: var(--header-link); text-decoration: none; }
header > a, header nav a { display: inline-flex; align-items: center; min-height: 3.25rem; max-width: 100%; }
header :focus-visible { outline-color: var(--header-link); outline-offset: -2px; }
header .brand { gap: var(--s2); color: inherit; font-size: var(--text-4); font-weight: 650; letter-spacing: -.015em; }
header .brand:hover { text-decoration: none; }
.brand bdi::before { content: ""; display: inline-block; width: 1.5em; height: 1.5em; margin-inline-end: .55em;
  vertical-align: -.375rem; background: var(--mark) center / contain no-repeat; }
.brand img { display: block; height: var(--logo-height); max-width: 100%; object-fit: contain; overflow: hidden; }
header nav { display: flex; flex-wrap: wrap; gap: 0 var(--s5); }
header nav a { font-weight: 500; opacity: .82; }
header nav a:hover { opacity: 1; text-decoration: none; }
header nav a[aria-current] { opacity: 1; font-weight: 600; box-shadow: inset 0 -2px var(--link); }
.account { margin-inline-start: auto; min-width: 0; max-width: 100%; }
.account.choice > summary { max-width: none; padding: var(--s1) var(--s2); margin-inline-end: calc(-1 * var(--s2)); display: flex; align-items: center; gap: var(--s2);
  font-weight: 550; border-radius: var(--radius); }
.account.choice > summary:hover, .account.choice[open] > summary { background: color-mix(in srgb, var(--header-link) 8%, transparent); }
.account > summary[aria-current] { font-weight: 650; }
.account.choice > .card { inset-inline: auto 0; min-width: 13rem; padding: var(--s2); max-height: none; color: var(--text); }
.account.choice .plain { margin: 0; }
.account .card :is(a, button) { display: flex; align-items: center; justify-content: start; gap: var(--s3); width: 100%; padding: var(--s2) var(--s3); min-height: 0; border: 0;
  border-radius: calc(var(--radius) - 2px); background: none; box-shadow: none; color: var(--text); font-weight: 400; line-height: var(--line-3); text-align: start; text-decoration: none; }
.account .card :is(a, button):hover { background: var(--surface); text-decoration: none; }
.account .card a[aria-current] { font-weight: 600; }
.account .card .icon { color: var(--muted); }
.account .card :focus-visible { outline-color: var(--link); }
.account form { margin-top: var(--s2); padding-top: var(--s2); border-top: 1px solid var(--border); }

main { display: block; padding: var(--s6) var(--gutter) calc(var(--s8) * 2); }
.head { display: flex; flex-wrap: wrap; gap: var(--s4) var(--s3); align-items: center; margin-bottom: var(--s5); }
.head:has(+ .tabs) { margin-bottom: var(--s3); }
.head > :first-child { flex: 1 1 20rem; min-width: 0; }
.crumbs { font-size: var(--text-2); line-height: var(--line-2); margin-bottom: var(--s2); }
.crumbs ol { display: flex; flex-wrap: wrap; list-style: none; margin: 0; padding: 0; }
.crumbs li + li::before { content: "/" / ""; margin: 0 var(--s2); color: var(--muted); }
.crumbs a { color: var(--muted); text-decoration: none; }
.crumbs a:hover { color: var(--text); }
/* Tabs that do not fit go on in another line, with a border of its own. */
.tabs { display: flex; flex-wrap: wrap; gap: 0 var(--s5); margin: 0 0 var(--s5);
  background: repeating-linear-gradient(transparent 0 calc(var(--tab) - 1px), var(--border) 0 var(--tab)); }
.tabs a { flex: none; display: flex; align-items: center; gap: var(--s2); height: var(--tab); max-width: 100%; color: var(--muted); text-decoration: none; font-weight: 500; white-space: nowrap; }
.tabs a:hover { color: var(--text); box-shadow: inset 0 -2px var(--border); }
.tabs a[aria-current] { color: var(--text); box-shadow: inset 0 -2px var(--link); }
.tabs a:focus-visible { outline-offset: -2px; }

section, .card, main > form:not(.inline), main > table { background: var(--card); border: 1px solid var(--border); border-radius: var(--card-radius);
  padding: var(--pad); margin: 0 0 var(--s4); box-shadow: var(--shadow); min-width: 0; }
section > h2:first-child, .section-head { margin-bottom: var(--s4); }
.section-head { display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; gap: var(--s2) var(--s4); }
/* As high as a button in the head, so that titles stand at the same height in all cards. */
.section-head > :is(h2, h3) { padding-block: .1875rem; }
.section-head > .buttons { margin: 0; }
.section-head > .about { flex-basis: 100%; max-width: none; order: 1; margin: calc(-1 * var(--s2)) 0 0; }
section > :last-child, .card > :last-child { margin-bottom: 0; }
main > p { margin-bottom: var(--s4); }
section section { border: 0; padding: 0; box-shadow: none; margin: var(--s5) 0 0; border-radius: 0; }
.sides > div { min-width: 0; }
.narrow { max-width: 26rem; margin: 6vh auto 0; padding: var(--s8); background: var(--card); border: 1px solid var(--border);
  border-radius: var(--card-radius); box-shadow: var(--shadow); }
.alternative { margin-top: var(--s5); padding-top: var(--s4); border-top: 1px solid var(--border); }
.narrow h1 { margin-bottom: var(--s5); font-size: 1.375rem; line-height: 1.75rem; }
.narrow.failure { max-width: 34rem; text-align: center; }
.narrow.failure > .icon { display: block; margin: var(--s4) auto var(--s6); transform: scale(2); color: color-mix(in srgb, var(--muted) 65%, transparent); }
.narrow.failure :is(h1, p) { margin: 0 auto var(--s3); text-wrap: balance; }
.narrow.failure .buttons { justify-content: center; }
.notice { position: relative; padding: var(--s3) var(--s4); padding-inline-start: 2.75rem; margin: 0 0 var(--s4); border: 1px solid transparent; border-radius: var(--radius); }
.notice::before { content: ""; position: absolute; inset-inline-start: var(--s4); top: calc(var(--s3) + .25em); width: 16px; height: 16px; background: currentColor; clip-path: var(--icon-alert); }
.notice.success::before { clip-path: var(--icon-closed); }
.notice.over { background: var(--over-background); color: var(--over); border-color: color-mix(in srgb, var(--over) 25%, transparent); }
.notice.near { background: var(--near-background); color: var(--near); border-color: color-mix(in srgb, var(--near) 25%, transparent); }
.notice.success { background: var(--success-background); color: var(--success); border-color: color-mix(in srgb, var(--success) 25%, transparent); }
.notice a { color: inherit; }
.empty { text-align: center; color: var(--muted); padding: var(--s2) var(--s4) var(--s4); }
.empty > :last-child { margin-bottom: 0; }
.empty > .icon:first-child { display: block; margin: 0 auto var(--s3); transform: scale(1.75); margin-block: var(--s3) var(--s5); color: color-mix(in srgb, var(--muted) 65%, transparent); }
.empty h2, .empty h3 { color: var(--text); font-size: var(--text-4); line-height: var(--line-3); }
.empty p { margin-inline: auto; text-wrap: balance; }
.empty .copied { max-width: 48rem; margin: var(--s3) auto; text-align: start; color: var(--text); }

/* Details beside what matters most, and a form beside its heading. In one column, over quota comes first. */
@media (min-width: 60.01rem) {
  :root { --pad: var(--s6); }
  .sides { display: grid; grid-template-columns: minmax(0, 1fr) 22rem; gap: 0 var(--s4); align-items: start; }
  .sides > .side { grid-column: 2; }
  .sides > :not(.side) { grid-area: 1 / 1; }
  main > section:has(> .stacked) { display: grid; grid-template-columns: 19rem minmax(0, 40rem); column-gap: calc(2 * var(--s8)); }
  main > section:has(> .stacked) .rows > li { margin-inline: 0; padding-inline: 0; background: none; }
  main > section:has(> .stacked) .rows > li:first-child { border-top: 0; padding-top: 0; }
  main > section:has(> .stacked) > * { grid-column: 2; }
  main > section:has(> .stacked) > .section-head { grid-area: 1 / 1 / span 12; display: block; margin-bottom: 0; }
  main > section:has(> .stacked) > .section-head > h2 { padding-block: 0 var(--s1); }
  main > section:has(> .stacked) > .section-head > .small { display: block; margin: 0; }
}
@media (max-width: 60rem) {
  .sides:has(> .side:first-child) { display: flex; flex-direction: column; }
  .sides > .side { display: contents; }
  .side > [aria-labelledby=organizations] { order: 1; }
}
@media (max-width: 40rem) {
  .dots > span:has(> .slim), .dots > span:has(> .slim) + span > i { display: revert; }
  :root { --pad: var(--s4); }
  body { font-size: .9375rem; line-height: 1.4375rem; }
  header { gap: 0 var(--s4); }
  header > a { min-height: 3rem; }
  header nav { order: 1; flex-basis: 100%; }
  header nav a { min-height: 2.5rem; }
  main { padding-top: var(--s4); }
  h1 { font-size: 1.375rem; line-height: 1.75rem; }
  .head > .button { min-height: 2rem; padding: var(--s1) var(--s3); }
  .tabs { column-gap: var(--s4); }
  .tabs:has(> :nth-child(6)) { column-gap: .625rem; }
  .tabs:has(> :nth-child(6)) a { font-size: var(--text-2); gap: var(--s1); }
  .tabs .rest { display: none; }
  .narrow { padding: var(--s5); margin-top: var(--s4); }
  .empty { padding-inline: 0; }
}
@media (prefers-reduced-motion: no-preference) {
  a, button, tr, summary { transition: color .12s, background-color .12s, border-color .12s, opacity .12s, box-shadow .12s; }
}
`

/** On paper there is nothing to press. Comes last, so that it hides what other styles show. */
export const print = `
@media print {
  header nav, .account, .skip, .tabs, .pages, .choices, .inline, .stacked, .buttons, .check, .section-head > a, button, .button, summary { display: none; }
  .sides { display: block; }
  body, section, .card { background: none; box-shadow: none; }
  section:not(:has(table)), tr, figure { break-inside: avoid; }
  thead { display: table-header-group; }
  header, main { padding-inline: 0; }
  main { padding-block: var(--s4) 0; }
  .icon, .state::before, .notice::before { print-color-adjust: exact; }
}
`
