/** Base styles, and the frame of every page: header, breadcrumbs, title, tabs, cards. `--s1` to `--s8` are steps of space. */
export const layout = `
:root { --s1: var(--space); --s2: calc(var(--space) * 2); --s3: calc(var(--space) * 3); --s4: calc(var(--space) * 4);
  --s5: calc(var(--space) * 5); --s6: calc(var(--space) * 6); --s8: calc(var(--space) * 8);
  --card-radius: calc(var(--radius) * 1.5); --gutter: max(var(--s4), calc((100% - var(--width)) / 2)); --tab: 2.625rem;
  --mono: ui-monospace, SFMono-Regular, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace; }
*, ::before, ::after { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--background); color: var(--text); overflow-wrap: anywhere;
  font: .9375rem/1.55 var(--font); -webkit-font-smoothing: antialiased; }
a { color: var(--link); text-decoration-color: color-mix(in srgb, currentColor 35%, transparent); text-underline-offset: .2em; }
a:hover { text-decoration-color: currentColor; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
main:focus { outline: none; }
p { margin: var(--s2) 0; max-width: 75ch; text-wrap: pretty; }
h1, h2, h3 { line-height: 1.3; text-wrap: balance; margin: 0; }
h1 { font-size: 1.625rem; letter-spacing: -.02em; font-weight: 650; }
h2 { font-size: 1rem; letter-spacing: -.005em; font-weight: 600; }
h3 { font-size: .875rem; font-weight: 600; }
code.unbroken { white-space: nowrap; }
code, pre, kbd { font: .86em/1.5 var(--mono); }
code { background: var(--surface); padding: .12em .4em; border-radius: calc(var(--radius) / 2); }
.small, .hint, .subtitle, figcaption, caption { font-size: .8125rem; }
.small, .hint, .subtitle, figcaption, caption, .muted { color: var(--muted); }
.subtitle { font-size: .9375rem; margin: var(--s1) 0 0; }
.hidden, .skip:not(:focus) { position: absolute; width: 1px; height: 1px; margin: -1px; overflow: hidden;
  clip-path: inset(50%); white-space: nowrap; }
.skip:focus { position: absolute; top: 0; left: 0; z-index: 2; padding: var(--s3) var(--s4); background: var(--card); }

header { display: flex; flex-wrap: wrap; align-items: center; gap: var(--s1) var(--s6); min-height: 3.5rem;
  padding: var(--s2) var(--gutter); background: var(--header); color: var(--header-text); border-bottom: 1px solid var(--border); }
header a, header summary { color: var(--header-link); text-decoration: none; }
header a { display: inline-block; padding: var(--s1) 0; max-width: 100%; }
header a:hover { text-decoration: underline; }
header :focus-visible { outline-color: var(--header-link); }
header .brand { display: inline-flex; align-items: center; gap: var(--s2); color: inherit; font-weight: 650; letter-spacing: -.01em; }
.brand bdi::before { content: ""; display: inline-block; width: 1.25em; height: 1.25em; margin-inline-end: .5em;
  vertical-align: -.28em; background: var(--mark) center / contain no-repeat; }
.brand img { display: block; height: var(--logo-height); max-width: 100%; object-fit: contain; overflow: hidden; }
header nav { display: flex; flex-wrap: wrap; gap: var(--s1) var(--s5); }
header nav a { font-weight: 500; opacity: .82; }
header nav a[aria-current], header nav a:hover { opacity: 1; }
header nav a[aria-current] { box-shadow: inset 0 -2px var(--link); }
.account { margin-inline-start: auto; font-size: .875rem; min-width: 0; max-width: 100%; }
.account.choice > summary { font-weight: 600; max-width: none; padding: var(--s1) 0; display: flex; align-items: center; gap: var(--s2); }
.account > summary[aria-current] { box-shadow: inset 0 -2px var(--link); border-radius: 0; }
.account.choice > .card { inset-inline: auto 0; min-width: 12rem; padding: var(--s2); max-height: none; color: var(--text); }
.account.choice .plain { margin: 0; }
.account .card :is(a, button) { display: block; width: 100%; padding: var(--s2) var(--s3); min-height: 0; border: 0; border-radius: calc(var(--radius) - 2px);
  background: none; color: var(--text); font-weight: 400; line-height: 1.375rem; text-align: start; text-decoration: none; }
.account .card :is(a, button):hover { background: var(--surface); text-decoration: none; }
.account .card a[aria-current] { font-weight: 600; }
.account .card :focus-visible { outline-color: var(--link); outline-offset: -2px; }
.account form { margin-top: var(--s2); padding-top: var(--s2); border-top: 1px solid var(--border); }

main { display: block; padding: var(--s6) var(--gutter) calc(var(--s8) * 2); }
.head { display: flex; flex-wrap: wrap; gap: var(--s3); align-items: flex-end; margin-bottom: var(--s5); }
.head:has(+ .tabs) { margin-bottom: var(--s3); }
.head > :first-child { flex: 1 1 20rem; min-width: 0; }
.crumbs { font-size: .8125rem; margin-bottom: var(--s2); }
.crumbs ol { display: flex; flex-wrap: wrap; list-style: none; margin: 0; padding: 0; }
.crumbs li + li::before { content: "/"; margin: 0 var(--s2); color: var(--muted); }
.crumbs a { color: var(--muted); }
/* Tabs that do not fit go on in another line, with a border of its own. */
.tabs { display: flex; flex-wrap: wrap; gap: 0 var(--s5); margin: 0 0 var(--s5);
  background: repeating-linear-gradient(transparent 0 calc(var(--tab) - 1px), var(--border) 0 var(--tab)); }
.tabs a { flex: none; display: flex; align-items: center; height: var(--tab); max-width: 100%; color: var(--muted); text-decoration: none; font-weight: 500; white-space: nowrap; }
.tabs a:hover { color: var(--text); }
.tabs a[aria-current] { color: var(--text); box-shadow: inset 0 -2px var(--link); }
.tabs a:focus-visible { outline-offset: -2px; }

section, .card, main > form:not(.inline), main > table { background: var(--card); border: 1px solid var(--border); border-radius: var(--card-radius);
  padding: var(--s5); margin: 0 0 var(--s4); box-shadow: 0 1px 2px rgb(15 23 42 / 4%); min-width: 0; }
section > h2:first-child, .section-head { margin-bottom: var(--s3); }
.section-head { display: flex; flex-wrap: wrap; align-items: baseline; justify-content: space-between; gap: var(--s2) var(--s4); }
section > :last-child, .card > :last-child { margin-bottom: 0; }
main > p { margin-bottom: var(--s4); }
section section { border: 0; padding: 0; box-shadow: none; margin: var(--s5) 0 0; border-radius: 0; }
.columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 22rem), 1fr)); gap: 0 var(--s4); align-items: start; }
.columns > section { height: calc(100% - var(--s4)); }
.narrow { max-width: 26rem; margin: 4vh auto 0; padding: var(--s6); background: var(--card); border: 1px solid var(--border);
  border-radius: var(--card-radius); box-shadow: 0 1px 2px rgb(15 23 42 / 4%); }
.alternative { margin-top: var(--s5); padding-top: var(--s4); border-top: 1px solid var(--border); font-size: .875rem; }
.narrow h1 { margin-bottom: var(--s4); font-size: 1.375rem; }
.notice { padding: var(--s3) var(--s4); margin: 0 0 var(--s4); border: 1px solid transparent; border-radius: var(--radius); }
.notice.over { background: var(--over-background); color: var(--over); border-color: color-mix(in srgb, var(--over) 25%, transparent); }
.notice.near { background: var(--near-background); color: var(--near); border-color: color-mix(in srgb, var(--near) 25%, transparent); }
.notice.success { background: var(--success-background); color: var(--success); border-color: color-mix(in srgb, var(--success) 25%, transparent); }
.notice a { color: inherit; }
.empty { text-align: center; color: var(--muted); padding: var(--s6) var(--s4); }
.empty h2, .empty h3 { color: var(--text); }
.empty p { margin-inline: auto; }
.empty .copied { position: relative; max-width: 44rem; margin: var(--s3) auto; text-align: start; color: var(--text); }

@media (max-width: 40rem) {
  body { font-size: 1rem; }
  header { gap: var(--s1) var(--s4); }
  header nav { order: 1; flex-basis: 100%; }
  main { padding-top: var(--s4); }
  h1 { font-size: 1.375rem; }
  .tabs { column-gap: var(--s4); }
  section, .card { padding: var(--s4); }
  .empty { padding-inline: 0; }
}
@media (prefers-reduced-motion: no-preference) {
  a, button, tr, summary { transition: color .12s, background-color .12s, border-color .12s, opacity .12s; }
}
`

/** On paper there is nothing to press. Comes last, so that it hides what other styles show. */
export const print = `
@media print {
  header nav, .account, .skip, .tabs, .pages, .choices, .inline, .stacked, .buttons, .check, button, .button, summary { display: none; }
  body, section, .card { background: none; box-shadow: none; }
  section:not(:has(table)), tr, figure { break-inside: avoid; }
  thead { display: table-header-group; }
  header, main { padding-inline: 0; }
  main { padding-block: var(--s4) 0; }
}
`
