/** Styles of tables, forms and buttons. */
export const forms = `
/* Wider than the text beside it, so that the background of a row under the pointer does not end at its letters. */
table { width: calc(100% + 2 * var(--s3)); margin-inline: calc(-1 * var(--s3)); border-collapse: collapse; font-variant-numeric: tabular-nums; }
caption { text-align: start; padding: 0 var(--s3) var(--s2); }
th, td { text-align: start; padding: var(--s2) var(--s3); border-top: 1px solid var(--border); vertical-align: top; }
thead th { border-top: 0; font-size: .8125rem; font-weight: 500; color: var(--muted); white-space: nowrap; vertical-align: bottom; }
tbody th { font-weight: inherit; }
section > table:last-child > tbody > tr:last-child > * { padding-bottom: 0; }
thead th a { color: inherit; text-decoration: none; }
thead th a:hover { color: var(--text); text-decoration: underline; }
thead th[aria-sort] a { color: var(--text); font-weight: 600; }
tbody tr:hover { background: color-mix(in srgb, var(--surface) 55%, transparent); }
.number { text-align: end; white-space: nowrap; }
.number .since { display: block; }
td.check, th.check { width: 2.5rem; position: relative; padding-inline-end: 0; }
/* The script adds it: it must not move the table. */
th.check input { position: absolute; inset-block-end: var(--s2); inset-inline-start: var(--s3); }
/* Columns of fixed widths: a browser that paints before it has read all rows must not move those that it has painted. */
.items { table-layout: fixed; }
.items thead .wide { width: 8rem; }
.items thead .number { width: 6.5rem; }
.items thead .share { width: 8.5rem; }
.share .bar { display: inline-block; width: 3.5rem; margin: 0; margin-inline-start: var(--s2); vertical-align: .1em; }
td form { display: inline; }
/* A part of the row above it. */
.part td { border-top: 0; padding-block: var(--s1); color: var(--muted); }
tr:not(.part) ~ .part td:first-child { padding-inline-start: var(--s6); }
.part:has(+ tr:not(.part)) td { padding-bottom: var(--s3); }
.slim { display: none; }
.pages { display: flex; flex-wrap: wrap; gap: var(--s2); align-items: center; margin: var(--s4) 0 0; color: var(--muted); font-size: .875rem; }
.pages span { margin-inline-end: auto; }
.pages a { display: inline-flex; align-items: center; min-height: 2rem; padding: var(--s1) var(--s3); border: 1px solid var(--border);
  border-radius: var(--radius); background: var(--card); color: var(--text); text-decoration: none; font-weight: 500; }
.pages a:hover { background: var(--surface); }

label, legend { font-weight: 550; font-size: .875rem; }
input, select, textarea, button, .button { font: inherit; color: inherit; max-width: 100%; }
input:not([type=checkbox], [type=radio]), select, textarea { background: var(--card); border: 1px solid var(--field); border-radius: var(--radius);
  padding: var(--s2) var(--s3); width: 100%; min-height: 2.5rem; line-height: 1.375rem; }
select { appearance: none; padding-inline-end: var(--s8); background: linear-gradient(45deg, transparent 50%, currentColor 0) right 1.05rem center / .375rem .375rem no-repeat,
  linear-gradient(-45deg, transparent 50%, currentColor 0) right .675rem center / .375rem .375rem no-repeat var(--card); }
input[type=file] { padding: var(--s1); line-height: 1.875rem; }
input::file-selector-button { font: inherit; color: inherit; background: var(--surface); border: 0; border-radius: calc(var(--radius) - 3px);
  padding: 0 var(--s3); margin-inline-end: var(--s3); cursor: pointer; }
:is(input, select, textarea):focus-visible { outline-offset: -1px; }
:is(input, select, textarea)[aria-invalid]:not([type=checkbox]) { border-color: var(--over); box-shadow: 0 0 0 1px var(--over); }
button, .button { display: inline-flex; align-items: center; justify-content: center; gap: var(--s2); background: var(--link); color: var(--button-text);
  border: 1px solid var(--link); border-radius: var(--radius); padding: var(--s2) var(--s4); min-height: 2.5rem; line-height: 1.25;
  cursor: pointer; font-weight: 550; text-decoration: none; }
button:hover, .button:hover { background: color-mix(in srgb, var(--link) 88%, var(--text)); }
button:disabled { opacity: .5; cursor: default; }
button.secondary, .button.secondary { background: var(--card); color: var(--text); border-color: var(--border); font-weight: 500; }
:is(button, .button).secondary:hover { background: var(--surface); }
button.danger, .button.danger { background: var(--card); color: var(--over); border-color: color-mix(in srgb, var(--over) 45%, transparent); }
:is(button, .button).danger:hover { background: var(--over-background); }
/* The button that does it, on the page that asks. */
button.danger.final { background: var(--over); color: var(--card); border-color: var(--over); }
button.danger.final:hover { background: color-mix(in srgb, var(--over) 88%, var(--text)); }
:is(button, .button).small { min-height: 2rem; padding: var(--s1) var(--s3); color: var(--button-text); }
:is(button, .button).secondary.small { color: var(--text); }
:is(button, .button).danger.small { color: var(--over); }
.stacked { display: grid; gap: var(--s1); justify-items: start; }
.stacked > * { max-width: 36rem; }
.stacked > .options { max-width: none; }
.stacked + .stacked { margin-top: var(--s5); padding-top: var(--s4); border-top: 1px solid var(--border); }
.stacked > p.small + button { margin-top: var(--s1); }
.stacked > p.small:first-of-type { margin-top: 0; }
.stacked > label:not(:first-of-type), .stacked > fieldset { margin-top: var(--s3); }
.stacked > button { margin-top: var(--s4); }
.narrow .stacked > button { width: 100%; }
.hint { margin: 0; }
.buttons { display: flex; flex-wrap: wrap; gap: var(--s2) var(--s3); align-items: center; margin: var(--s4) 0 0; }
.inline { display: flex; flex-wrap: wrap; gap: var(--s3); align-items: end; margin: 0 0 var(--s4); }
.inline > div { flex: 1 1 10rem; min-width: 0; }
.inline label { display: block; margin-bottom: var(--s1); }
.buttons span:empty { display: none; }
.inline > .buttons { flex: none; margin: 0; max-width: 100%; }
.inline > .whole { flex-basis: 15rem; }
fieldset { border: 1px solid var(--border); border-radius: var(--radius); margin: 0; padding: var(--s2) var(--s4) var(--s3); width: 100%; min-width: 0; }
fieldset > .line { align-items: center; }
legend { padding: 0 var(--s1); }
.box { display: flex; gap: var(--s3); align-items: start; padding: var(--s1) 0; margin: 0; font-weight: 400; }
.box input { margin-top: .2em; }
.box:is(.deep1, .deep2) { margin-inline-start: 1.7rem; }
.box.deep2 { margin-inline-start: 3.4rem; }
.box .about { display: block; }
fieldset.options { padding-bottom: var(--s4); }
details.options { margin-top: var(--s3); width: 100%; }
.options > summary { font-weight: 550; font-size: .875rem; }
.options > fieldset { padding-block: var(--s3) var(--s4); }
.options .hint { margin-bottom: var(--s3); max-width: none; }
.option-columns { columns: 2 18rem; column-gap: var(--s6); }
.option-columns > * { break-inside: avoid; }
.option-columns fieldset { border: 0; padding: 0 0 var(--s4); }
.option-columns fieldset:last-child { padding-bottom: 0; }
.option-columns legend { padding: 0; color: var(--muted); font-size: .8125rem; }
input:is([type=checkbox], [type=radio]) { width: 1.1rem; height: 1.1rem; flex: none; accent-color: var(--link); }
/* Drawn here, since in dark mode browsers fill an empty box with gray, as if it were disabled. */
@media not (forced-colors: active) {
  input[type=checkbox] { appearance: none; display: inline-grid; place-content: center; border: 1.5px solid var(--field);
    border-radius: calc(var(--radius) / 2); background: var(--card); vertical-align: -.2em; }
  input[type=checkbox]:is(:checked, :indeterminate) { background: var(--link); border-color: var(--link); }
  input[type=checkbox]::before { content: ""; width: .7rem; height: .7rem; background: var(--button-text); transform: scale(0);
    clip-path: polygon(13% 47%, 0 61%, 40% 100%, 100% 18%, 86% 7%, 39% 71%); }
  input[type=checkbox]:is(:checked, :indeterminate)::before { transform: none; }
  input[type=checkbox]:indeterminate::before { clip-path: inset(42% 8%); }
}
@media (max-width: 40rem) {
  table { width: calc(100% + 2 * var(--s2)); margin-inline: calc(-1 * var(--s2)); }
  th, td { padding-inline: var(--s2); }
  td.check, th.check { width: 2.25rem; }
  th.check input { inset-inline-start: var(--s2); }
  .wide { display: none; }
  .slim { display: revert; }
  .share .bar { display: none; }
  .pages span { flex-basis: 100%; }
  .inline > div { flex-basis: 9.25rem; }
  .inline > div:first-of-type:not(:only-of-type), .inline > .whole, .inline > .buttons { flex-basis: 100%; }
  td .state .amount { display: none; }
  .inline.assign > div:not(.buttons) { flex-basis: 9.25rem; }
  .options code { display: inline-block; }
}
`
