/** Styles of the pages of people and repositories: avatars, files, source code, rendered text. */
export const site = `
:root { --code-keyword: light-dark(#8a2a8f, #d9a0e8); --code-type: light-dark(#7a4a00, #e5b567); --code-number: light-dark(#0a5f8a, #7cc7f0);
  --code-string: light-dark(#1f6b2b, #93d09a); --code-function: light-dark(#1f4fb0, #8db6ff); }
/* Its margins keep the line as high as one without it. */
.avatar { width: 1.25rem; height: 1.25rem; margin-block: -.125rem; border-radius: 99rem; vertical-align: -.1875rem; flex: none; object-fit: cover; }
.avatar.large { margin: 0; width: 3.5rem; height: 3.5rem; border-radius: var(--card-radius); }
.avatar.medium { margin: 0; width: 2.75rem; height: 2.75rem; border-radius: var(--radius); }
.avatar text { font-family: var(--font); }
.person { white-space: nowrap; max-width: 100%; overflow-x: clip; text-overflow: ellipsis; display: inline-block; }
.profile { display: flex; gap: var(--s4); align-items: center; }
.profile > div { min-width: 0; }
.id { background: none; padding: 0; }
a:has(> code:only-child):not(:hover) { text-decoration: none; }
.ids { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: var(--s1) var(--s4); align-items: baseline; margin: var(--s3) 0 0; font-size: var(--text-2); line-height: var(--line-2); }
.ids dt { color: var(--muted); grid-column: 1; }
.ids dd { margin: 0; grid-column: 2; }
.strong { font-weight: 600; }
.quiet { color: inherit; text-decoration: none; }
.quiet:hover { text-decoration: underline; }
.issue { white-space: nowrap; font-size: var(--text-2); line-height: var(--line-2); font-weight: 550; color: var(--muted); }
.issue.open { color: var(--success); }
.post:target { border-color: var(--link); }
time { white-space: nowrap; }
.title { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 var(--s2); font-size: 1.25rem; line-height: 1.75rem; margin: 0; max-width: none; letter-spacing: -.01em; }
.title a { color: inherit; text-decoration: none; }
.title a:hover { text-decoration: underline; }
.title .tag { letter-spacing: 0; }
.title > .icon { align-self: center; color: var(--muted); }
.tabs .count { padding: 0 .4rem; border-color: transparent; background: color-mix(in srgb, var(--muted) 14%, transparent); font-variant-numeric: tabular-nums; }
.beside { display: grid; grid-template-columns: minmax(0, 1fr) 20rem; gap: 0 var(--s4); align-items: start; }
.beside > div { min-width: 0; }
.facts { display: grid; gap: var(--s2); }
.facts > .iconic { display: flex; gap: var(--s3); align-items: baseline; }
.facts > .iconic > .icon { color: var(--muted); transform: translateY(.125rem); }
.facts > li { min-width: 0; }
.rows p { margin: var(--s1) 0 0; }
.rows + p { margin-top: var(--s3); }
.rows .line > :first-child { flex: 1 1 min(16rem, 30vw); min-width: 0; }
.toolbar { display: flex; flex-wrap: wrap; gap: var(--s2) var(--s4); align-items: center; margin: 0 0 var(--s3); }
.toolbar > * { margin: 0; min-width: 0; }
.toolbar .last { flex: 1 1 16rem; max-width: none; }
h1.path { font-size: var(--text-4); line-height: var(--line-4); font-weight: 500; letter-spacing: 0; flex: 1 1 12rem; }
h1.path > bdi { font-weight: 650; }
h1.subject { font-size: 1.125rem; line-height: var(--line-4); }
.choice { position: relative; }
.choice > summary { list-style: none; max-width: 16rem; overflow: hidden; }
.choice[open] > summary { margin-bottom: 0; }
.choice > summary::-webkit-details-marker { display: none; }
.choice > summary::after { content: ""; flex: none; width: .4375rem; height: .4375rem; margin: -.25rem .125rem 0; border: solid; border-width: 0 1.5px 1.5px 0; rotate: 45deg; }
.choice > .card { position: absolute; margin-top: var(--s2); z-index: 1; top: 100%; inset-inline-start: 0; width: max-content; max-width: min(22rem, 85vw);
  max-height: 24rem; overflow: auto; padding: var(--s4); box-shadow: var(--raised); }
.choice .plain { margin: var(--s1) 0 var(--s3); display: grid; gap: var(--s1); }
.choice .plain a { color: var(--text); text-decoration: none; }
.choice .plain a:hover { text-decoration: underline; }
.choices + section { margin-top: var(--s3); }
.choices a::first-letter { text-transform: uppercase; }

.flush { padding: 0; overflow: hidden; }
.flush > p { padding: var(--s4) var(--pad); margin: 0; }
.flush > .pages { padding: var(--s3) var(--pad); margin: 0; border-top: 1px solid var(--border); }
.flush > .pages:has(+ ol, + ul) { border-top: 0; border-bottom: 1px solid var(--border); }
.entries li { display: grid; grid-template-columns: minmax(10rem, 1fr) minmax(0, 1.6fr) 5.5rem; gap: var(--s3); align-items: baseline; padding: var(--s2) var(--pad); border-top: 1px solid var(--border); }
.entries li:first-child { border-top: 0; }
.entries li:hover { background: var(--tint); }
.entries > li > a { display: flex; gap: var(--s3); align-items: baseline; color: var(--text); min-width: 0; }
.entries > li > a > span:last-child { min-width: 0; }
.entries .icon { color: var(--muted); transform: translateY(.125rem); }
.entries .folder > a { font-weight: 550; }
.entries .icon-folder { color: color-mix(in srgb, var(--link) 80%, var(--card)); }
.entries .small { grid-column: 3; text-align: end; white-space: nowrap; font-variant-numeric: tabular-nums; }
.entries .changed { grid-column: 2; display: flex; align-items: baseline; justify-content: space-between; gap: var(--s3); min-width: 0; }
.entries .changed a { color: var(--muted); overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
@media (max-width: 60rem) {
  .entries li { grid-template-columns: minmax(0, 1fr) auto; }
  .entries .small { grid-column: 2; }
  .entries .changed { display: none; }
}
.file-head { display: flex; flex-wrap: wrap; align-items: baseline; gap: var(--s1) var(--s4); justify-content: space-between; padding: var(--s3) var(--pad); border-bottom: 1px solid var(--border); background: var(--tint); }
.links { display: flex; flex-wrap: wrap; gap: var(--s4); }
.flush > .prose { padding: var(--pad); }
.flush > .picture { display: block; max-width: calc(100% - 2 * var(--pad)); margin: var(--pad) auto; }
@counter-style line-number { system: extends decimal; suffix: "  "; }
.source, .diff, .command, .message { font: var(--text-2)/1.3125rem var(--mono); tab-size: 4; }
.source { margin: 0; padding: var(--s3) 0; padding-inline-start: 5em; white-space: pre-wrap; }
/* The first letters of a text decide where its lines begin, those of a line only the order within it. */
.source[dir=auto] li { unicode-bidi: plaintext; text-align: match-parent; }
.source li { padding-inline: calc(var(--s3) + 2ch) var(--s3); text-indent: -2ch; }
.source { list-style: line-number; }
.source li::marker { color: var(--muted); font-variant-numeric: tabular-nums; }
.source li:target { background: var(--near-background); }
.source i { font-style: normal; }
.source .k { color: var(--code-keyword); } .source .t { color: var(--code-type); } .source .n { color: var(--code-number); }
.source .s { color: var(--code-string); } .source .f, .source .v { color: var(--code-function); }
.source .c { color: var(--muted); font-style: italic; } .source .a { color: var(--success); } .source .d { color: var(--over); }
/* Numbers of the line before and after, the sign, and the text, with a hanging indent. */
.diff { --number: 5.5ch; margin: 0; white-space: pre-wrap; padding: var(--s2) 0; direction: ltr; text-align: left; }
.diff > * { display: block; position: relative; min-height: 1.3125rem; padding: 0 var(--s4) 0 calc(2 * var(--number) + 3ch); text-indent: -1ch; font-weight: 400; text-decoration: none; }
.diff > ::before, .diff > ::after { position: absolute; top: 0; width: var(--number); color: var(--muted); text-align: end; text-indent: 0; }
.diff > [data-b]::before { content: attr(data-b); left: 0; }
.diff > [data-a]::after { content: attr(data-a); left: var(--number); }
.diff > ins { background: var(--success-background); }
.diff > del { background: var(--over-background); }
.diff > ins, .diff > ins::after { color: var(--success); }
.diff > del, .diff > del::before { color: var(--over); }
.diff > b { color: var(--muted); background: var(--surface); text-indent: 0; padding-left: calc(2 * var(--number) + 2ch); }
.file { padding: 0; overflow: hidden; }
section.file > h2:first-child { padding: var(--s3) var(--pad); margin: 0; border-bottom: 1px solid var(--border); font: 600 var(--text-2)/1.3125rem var(--mono); background: var(--tint); }
.file > p { padding: 0 var(--pad); }
.message, .command { margin: var(--s2) 0; white-space: pre-wrap; }
/* Long commands wrap between their words; only a word that is longer than a line is broken. */
.command { position: relative; overflow-wrap: break-word; word-break: normal; background: var(--surface); border-radius: var(--radius); padding: var(--s3) var(--s4); padding-inline-end: 3.25rem; }
.copied + p:not(.small) { margin-top: var(--s4); }
.command code { overflow-wrap: break-word; }
button.copy { min-height: 0; width: 1.875rem; height: 1.875rem; padding: 0; color: var(--muted); }
button.copy:hover { color: var(--text); }
.command button.copy { position: absolute; inset-block-start: var(--s2); inset-inline-end: var(--s2); }
.command code { background: none; padding: 0; font: inherit; }
.address { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: var(--s1) var(--s2); align-items: center; margin-top: var(--s3); }
.address h3 { grid-column: 1 / -1; font-size: var(--text-2); }
.address code { padding: .3125rem var(--s3); user-select: all; font-size: var(--text-2); line-height: var(--line-2); }
.address code:last-child { grid-column: 1 / -1; }
.post { padding-block: var(--s4); }
.release > .section-head { margin-bottom: 0; }
.release > p + .prose { margin-top: var(--s4); }
.post > p:first-child { margin-top: 0; padding-bottom: var(--s3); border-bottom: 1px solid var(--border); max-width: none; }
.attached .icon { color: var(--muted); }
.attached { margin-top: var(--s3); padding-top: var(--s3); border-top: 1px solid var(--border); }

.prose { overflow-wrap: break-word; }
.prose > :first-child { margin-top: 0; }
.prose > :last-child { margin-bottom: 0; }
.prose :is(h1, h2, h3, h4, h5, h6) { margin: var(--s6) 0 var(--s2); }
.prose h1 { font-size: 1.5rem; line-height: 2rem; }
.prose h2 { font-size: 1.25rem; line-height: 1.75rem; padding-bottom: var(--s1); border-bottom: 1px solid var(--border); }
.prose h3 { font-size: 1.0625rem; line-height: var(--line-4); }
.prose pre { line-height: 1.3125rem; background: var(--surface); border-radius: var(--radius); padding: var(--s3) var(--s4); white-space: pre-wrap; }
.prose pre code { background: none; padding: 0; font: inherit; }
.prose :dir(rtl) { margin-inline-end: auto; }
.prose img { max-width: 100%; height: auto; vertical-align: middle; }
.blocked { display: inline-flex; align-items: center; gap: var(--s2); max-width: 100%; padding: var(--s1) var(--s3); border: 1px dashed var(--field); border-radius: var(--radius);
  color: var(--muted); font-size: var(--text-2); text-decoration: none; vertical-align: middle; }
.blocked::before { content: ""; flex: none; width: 1.1em; height: .85em; border: 1.5px solid currentColor; border-radius: 2px; background: linear-gradient(135deg, transparent 55%, currentColor 55%); }
a:hover .blocked, a.blocked:hover { color: var(--text); border-color: currentColor; }
.prose { font-size: .9375rem; line-height: 1.5625rem; }
.prose table { width: auto; max-width: 100%; margin-inline: 0; }
.prose :is(th, td) { border: 1px solid var(--border); padding: var(--s1) var(--s3); font-size: inherit; }
.prose blockquote { margin: var(--s3) 0; padding-inline-start: var(--s4); border-inline-start: 3px solid var(--border); color: var(--muted); }
.prose :is(th, td)[align=right] { text-align: right; }
.prose :is(th, td)[align=center] { text-align: center; }
.prose hr { border: 0; border-top: 1px solid var(--border); margin: var(--s5) 0; }
.prose :is(ul, ol) { padding-inline-start: 1.6em; }
.prose li.task-list-item { list-style: none; margin-inline-start: -1.4em; }
.prose input[type=checkbox] { width: 1em; height: 1em; vertical-align: -.1em; }

@media (max-width: 60rem) { .beside { grid-template-columns: minmax(0, 1fr); } }
/* All tabs of a repository fit a phone with counts of two digits, and a smaller one without them. */
@media (max-width: 40rem) { .tabs .count { padding: 0; border: 0; background: none; font-size: inherit; line-height: inherit; } }
@media (max-width: 24rem) { .tabs .count { display: none; } }
@media (max-width: 40rem) { .diff { --number: 4.5ch; } .diff > * { padding: 0 var(--s2) 0 calc(var(--number) + 2.5ch); } .diff > b { padding-left: calc(var(--number) + 1.5ch); }
  .diff > [data-a]::before { content: none; } .diff > [data-a]::after { left: 0; }
  .rows .line > .whole { flex-basis: 100%; } .source { padding-inline-start: 4.25em; } }
`
