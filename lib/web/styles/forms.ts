/** Styles of tables, forms and buttons. */
export const forms = `
/* As wide as their card, so that lines and the background of a row go to its edges. */
table { width: calc(100% + 2 * var(--pad)); margin-inline: calc(-1 * var(--pad)); border-collapse: collapse; font-variant-numeric: tabular-nums; }
caption { text-align: start; padding: 0 var(--pad) var(--s2); }
th, td { text-align: start; padding: .625rem var(--s3); border-top: 1px solid var(--border); vertical-align: baseline; }
:is(th, td):first-child { padding-inline-start: var(--pad); }
:is(th, td):last-child { padding-inline-end: var(--pad); }
thead th { padding-block: var(--s2); font-size: var(--text-1); line-height: var(--line-1); font-weight: 550; color: var(--muted); white-space: nowrap; vertical-align: bottom; background: var(--tint); }
tbody th { font-weight: inherit; }
p:has(+ table, + form > table) { margin-bottom: var(--s4); }
:is(section, .card):has(> table:last-child, > form:last-child > table:last-child) { overflow: clip; padding-bottom: 0; }
thead th a { color: inherit; text-decoration: none; }
thead th a:hover { color: var(--text); text-decoration: underline; }
table:has(+ :is(form, details, p:not(:last-child))) { border-bottom: 1px solid var(--border); }
table + :is(details, p:not(:last-child)) { margin-top: var(--s4); }
/* What is below the rows of a card. */
table + :is(.buttons, .pages, p:last-child), form > table + .inline.assign { margin: 0 calc(-1 * var(--pad)) calc(-1 * var(--pad)); padding: var(--s3) var(--pad); border-top: 1px solid var(--border); max-width: none; }
:is(section, .card):has(> form:last-child > table + div:last-child, > table + :is(.pages, p):last-child) { overflow: clip; }
thead th[aria-sort] a { color: var(--text); font-weight: 650; }
tbody tr:hover { background: var(--tint); }
td:first-child > a:first-child, td > .named > div > a:first-child { font-weight: 550; }
.named { display: flex; gap: var(--s3); align-items: baseline; }
.named > .icon { color: var(--muted); transform: translateY(.125rem); }
.named > div { min-width: 0; flex: 1; }
.number { text-align: end; white-space: nowrap; }
td.check, th.check { width: calc(var(--pad) + 1.75rem); position: relative; padding-inline-end: 0; }
/* The script adds it: it must not move the table. */
th.check input { position: absolute; inset-block: 0; margin-block: auto; inset-inline-start: var(--pad); }
/* Columns of fixed widths: a browser that paints before it has read all rows must not move painted ones. */
.items { table-layout: fixed; }
.items thead .wide { width: 8rem; }
.items thead .number { width: 6.5rem; }
.items thead .share { width: 9rem; }
.share .bar { display: inline-block; width: 3.5rem; margin: 0; margin-inline-start: var(--s2); vertical-align: .1em; }
td form { display: inline; }
:is(td.kind, td.sentence)::first-letter { text-transform: uppercase; }
/* A part of the row above it. */
.part td { border-top: 0; padding-block: var(--s1); color: var(--muted); }
tr:not(.part) ~ .part td:first-child { padding-inline-start: calc(var(--pad) + var(--s4)); }
.part:is(:last-child, :has(+ tr:not(.part))) td { padding-bottom: var(--s3); }
/* Parts of one whole, which has no row. */
tbody:not(:has(> tr:not(.part))) > .part td { border-top: 1px solid var(--border); padding-block: .625rem; color: inherit; }
.slim { display: none; }
.pages { display: flex; flex-wrap: wrap; gap: var(--s2); align-items: center; margin: var(--s4) 0 0; color: var(--muted); font-size: var(--text-2); line-height: var(--line-2); }
.pages span { margin-inline-end: auto; }
.pages a { display: inline-flex; align-items: center; min-height: 2rem; padding: var(--s1) var(--s3); border: 1px solid var(--border);
  border-radius: var(--radius); background: var(--card); color: var(--text); font-weight: 500; text-decoration: none; }
.pages a:hover { background: var(--surface); text-decoration: none; }

label, legend { font-weight: 550; font-size: var(--text-2); line-height: var(--line-2); }
input, select, textarea, button, .button { font: inherit; color: inherit; max-width: 100%; }
input:not([type=checkbox], [type=radio]), select, textarea { background: var(--card); border: 1px solid var(--field); border-radius: var(--radius);
  padding: .3125rem var(--s3); width: 100%; min-height: var(--control); line-height: var(--line-4); }
:is(input:not([type=checkbox], [type=radio]), select, textarea):hover { border-color: var(--muted); }
input[type=search] { padding-inline-start: 2.125rem; }
.searched { position: relative; display: block; }
.searched > .icon { position: absolute; inset-inline-start: .7rem; top: calc(var(--control) / 2 - 8px); color: var(--muted); pointer-events: none; }
select { appearance: none; padding-inline-end: var(--s8); background: linear-gradient(45deg, transparent 42%, currentColor 0 60%, transparent 0) right 17px center / 5px 5px no-repeat,
  linear-gradient(-45deg, transparent 42%, currentColor 0 60%, transparent 0) right 12px center / 5px 5px no-repeat var(--card); }
input[type=file] { padding: .1875rem; line-height: 1.75rem; }
input::file-selector-button { font: inherit; color: inherit; background: var(--surface); border: 0; border-radius: calc(var(--radius) - 3px);
  padding: 0 var(--s3); margin-inline-end: var(--s3); cursor: pointer; }
:is(input, select, textarea):focus-visible { outline-offset: -1px; }
:is(input, select, textarea)[aria-invalid]:not([type=checkbox]) { border-color: var(--over); box-shadow: 0 0 0 1px var(--over); outline-color: var(--over); }
button, .button { display: inline-flex; align-items: center; justify-content: center; gap: var(--s2); background: var(--link); color: var(--button-text);
  border: 1px solid var(--link); border-radius: var(--radius); padding: var(--s1) .875rem; min-height: var(--control); line-height: var(--line-2);
  cursor: pointer; font-weight: 550; text-decoration: none; box-shadow: 0 1px 1px rgb(15 23 42 / 6%); }
button:hover, .button:hover { text-decoration: none; background: color-mix(in srgb, var(--link) 88%, var(--text)); }
button:disabled { opacity: .5; cursor: default; box-shadow: none; }
button.secondary, .button.secondary { background: var(--card); color: var(--text); border-color: color-mix(in srgb, var(--border) 80%, var(--field)); font-weight: 500; }
.secondary > .icon { color: var(--muted); }
:is(button, .button).secondary:hover { background: var(--surface); }
/* Red is for what deletes or revokes for good, and not for what can be added, assigned or turned on again. */
button.danger, .button.danger { background: var(--card); color: var(--over); border-color: color-mix(in srgb, var(--over) 45%, transparent); }
:is(button, .button).danger:hover { background: var(--over-background); }
/* The button that does it, on the page that asks. */
button.danger.final { background: var(--over); color: var(--card); border-color: var(--over); }
button.danger.final:hover { background: color-mix(in srgb, var(--over) 88%, var(--text)); }
:is(button, .button).small { min-height: 1.875rem; padding: .125rem .625rem; color: var(--button-text); font-size: var(--text-2); }
:is(button, .button).secondary.small { color: var(--text); }
:is(button, .button).danger.small { color: var(--over); }
.stacked { display: grid; gap: var(--s1); justify-items: start; }
.stacked > * { max-width: 40rem; }
.field { display: grid; gap: var(--s1); align-content: start; width: 100%; }
.fields { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 16rem), 1fr)); gap: var(--s5) var(--s4); width: 100%; }
.footer { margin-inline: calc(-1 * var(--pad)); padding: var(--s4) var(--pad) 0; border-top: 1px solid var(--border); }
.stacked.row { display: flex; flex-wrap: wrap; gap: var(--s3); }
.stacked + .stacked { margin-top: var(--s6); padding-top: var(--s5); border-top: 1px solid var(--border); }
.stacked > p.small + button { margin-top: var(--s1); }
.stacked > p.small:first-of-type { margin-top: 0; }
.stacked > :is(.field, .fields, .field + label, label:not(:first-of-type), fieldset) { margin-top: var(--s4); }
.stacked > button { margin-top: var(--s5); }
.stacked > [type=hidden] + :not([type=hidden]) { margin-top: 0; }
.narrow .stacked > button { width: 100%; }
.hint { margin: 0; }
.field-failure { margin: 0; color: var(--over); font-size: var(--text-2); line-height: var(--line-2); font-weight: 550; }
.inline > .field-failure { flex-basis: 100%; }
.buttons { display: flex; flex-wrap: wrap; gap: var(--s2) var(--s3); align-items: center; margin: var(--s4) 0 0; }
.inline { display: flex; flex-wrap: wrap; gap: var(--s3); align-items: end; margin: 0 0 var(--s4); }
.inline > div { flex: 1 1 10rem; min-width: 0; }
.inline label { display: block; margin-bottom: var(--s1); }
.buttons span:empty { display: none; }
.inline > .buttons { flex: none; margin: 0; max-width: 100%; }
.inline > .whole { flex-basis: 15rem; }
fieldset { border: 1px solid var(--border); border-radius: var(--radius); margin: 0; padding: var(--s2) var(--s4) var(--s3); width: 100%; min-width: 0; }
fieldset > .line { align-items: start; flex-wrap: nowrap; }
fieldset > .line > a { padding-block: var(--s1); }
legend { padding: 0 var(--s1); }
.box { display: flex; gap: var(--s3); align-items: start; padding: var(--s1) 0; margin: 0; font-weight: 400; font-size: var(--text-3); line-height: var(--line-3); }
.box input { margin-top: .125rem; }
.box.deep1 { margin-inline-start: var(--s4); }
.box.deep2 { margin-inline-start: var(--s8); }
.box .about { display: block; }
fieldset.options { padding-bottom: var(--s4); }
details.options { margin-top: var(--s3); width: 100%; }
.options > summary { font-weight: 550; font-size: var(--text-2); line-height: var(--line-2); }
.option-columns .id { display: block; font-size: var(--text-1); }
/* What a scope allows stands below its name. */
.box.scope > span > .small { display: block; }
.options > fieldset { padding-block: var(--s3) var(--s4); }
.options .hint { margin-bottom: var(--s3); max-width: none; }
.option-columns { columns: 2 18rem; column-gap: var(--s4); }
.option-columns > * { break-inside: avoid; }
.option-columns fieldset { border: 0; padding: 0 0 var(--s4); }
.option-columns:has(fieldset) { margin-bottom: calc(-1 * var(--s4)); }
fieldset > p:last-child { margin-bottom: 0; }
.option-columns legend { padding: 0; color: var(--muted); font-size: var(--text-1); line-height: var(--line-1); }
input:is([type=checkbox], [type=radio]) { margin-inline: 0; width: 1.125rem; height: 1.125rem; flex: none; accent-color: var(--link); }
/* Drawn here, since in dark mode browsers fill an empty box with gray, as if it were disabled. */
@media not (forced-colors: active) {
  input[type=checkbox] { appearance: none; display: inline-grid; place-content: center; border: 1.5px solid var(--field);
    border-radius: calc(var(--radius) / 2); background: var(--card); vertical-align: -.125rem; }
  input[type=checkbox]:is(:checked, :indeterminate) { background: var(--link); border-color: var(--link); }
  input[type=checkbox]::before { content: ""; width: .7rem; height: .7rem; background: var(--button-text); transform: scale(0);
    clip-path: polygon(13% 47%, 0 61%, 40% 100%, 100% 18%, 86% 7%, 39% 71%); }
  input[type=checkbox]:is(:checked, :indeterminate)::before { transform: none; }
  input[type=checkbox]:indeterminate::before { clip-path: inset(42% 8%); }
}
@media (max-width: 40rem) {
  input:not([type=checkbox], [type=radio]), select, textarea { font-size: 1rem; }
  th, td { padding: var(--s3) var(--s2); }
  thead th { white-space: normal; }
  .wide { display: none; }
  .slim { display: revert; }
  .share .bar { display: none; }
  .items thead .number { width: 7.25rem; }
  /* A row with several columns of text as a card: name beside numbers, below what needs the whole width. */
  .cards thead { display: block; border-top: 1px solid var(--border); background: var(--tint); }
  .cards thead tr { display: flex; flex-wrap: wrap; gap: 0 var(--s4); padding-inline-end: var(--pad); }
  .cards thead th { border: 0; padding-inline: 0; background: none; }
  .cards thead th.check { margin-inline-end: calc(-1 * var(--s2)); }
  .cards tbody { display: block; }
  .cards tbody tr { display: grid; grid-template-columns: calc(var(--pad) + 1.75rem) minmax(0, 1fr) auto; grid-template-rows: auto 1fr; gap: 0 var(--s2); padding: var(--s4) 0; border-top: 1px solid var(--border); }
  .cards td { border: 0; padding: 0; }
  .cards td.check { grid-area: 1 / 1 / span 2; padding-inline-start: var(--pad); }
  .cards td:nth-child(2) { grid-area: 1 / 2 / span 2; }
  .cards td.number { grid-area: 1 / 3; padding-inline-end: var(--pad); }
  .cards td.growth .slim { display: block; }
  .cards td.growth { grid-area: 2 / 3; color: var(--muted); font-size: var(--text-2); line-height: var(--line-2); }
  .cards td.below { grid-area: 3 / 2 / auto / -1; margin-top: var(--s2); padding-inline: calc(16px + var(--s3)) var(--pad); }
  /* Four links leave no space for it. */
  .pages:has(> a:nth-of-type(3)) > span { flex-basis: 100%; }
  .inline > div { flex-basis: 9.25rem; }
  .inline > div:first-of-type:not(:only-of-type), .inline > .whole, .inline > .buttons { flex-basis: 100%; }
  .inline.assign > div:not(.buttons) { flex-basis: 9.25rem; }
}
`
