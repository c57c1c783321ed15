import { createHash } from 'node:crypto'
import { type Brand, type PageVariables, variableDefaults } from '../host-pages/brand.ts'

/** The style sheet of the pages with the variables of the host, and their icon. */

/** A file that is the same for all viewers. */
export interface Asset {
  readonly type: string
  readonly text: string
  readonly tag: string
}

/** @returns the files of the pages, by their paths */
export const assetsOf = (brand: Brand): Readonly<Record<string, Asset>> => ({
  '/-/style.css': asset(
    'text/css;charset=utf-8',
    [variableRules(brand), pageRules, bars, figures, tables, forms].join(''),
  ),
  [ICON_PATH]: asset('image/svg+xml', ICON),
})

export const ICON_PATH = '/-/icon.svg'

const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="#2563c4"/><rect x="3" y="4" width="10" height="3" fill="#fff"/><rect x="3" y="9" width="6" height="3" fill="#fff"/></svg>'

const asset = (type: string, text: string): Asset => ({
  type,
  text,
  tag: `"${createHash('sha1').update(text).digest('base64url')}"`,
})

/** The defaults have WCAG AA contrast for text in both modes. No state is shown by color alone. */
const variableRules = ({ variables, darkVariables }: Brand): string => {
  const light = Object.fromEntries(variableDefaults.map(({ name, light }) => [name, light]))
  const dark = Object.fromEntries(variableDefaults.flatMap(({ name, dark }) => (dark ? [[name, dark]] : [])))
  return `:root { color-scheme: light dark; ${declarations({ ...light, ...variables })} }
@media (prefers-color-scheme: dark) { :root { ${declarations({ ...dark, ...darkVariables })} } }
`
}

const declarations = (variables: PageVariables): string =>
  Object.entries(variables)
    .map(([name, value]) => `--${kebabCase(name)}: ${value};`)
    .join(' ')

const kebabCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

const pageRules = `
* { box-sizing: border-box; }
body { margin: 0; background: var(--background); color: var(--text); overflow-wrap: anywhere;
  font: 1rem/1.5 var(--font); }
a { color: var(--link); }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
main:focus { outline: none; }
.skip { position: absolute; left: -100vw; }
.skip:focus { left: 0; background: var(--background); padding: .5rem 1rem; z-index: 1; }
header { display: flex; flex-wrap: wrap; align-items: center; gap: .25rem 1.25rem; padding: .6rem 1rem;
  border-bottom: 1px solid var(--border); background: var(--header); color: var(--header-text); }
header nav { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; flex: 1; }
header a, .pages a { display: inline-block; padding: .25rem 0; }
header a, header button.secondary { color: var(--header-link); }
header :focus-visible { outline-color: var(--header-link); }
header form { margin-left: auto; }
@media (max-width: 30rem) { header nav { order: 1; flex-basis: 100%; } }
header .brand { font-weight: 700; color: inherit; text-decoration: none; max-width: 100%; }
.brand img { display: block; height: var(--logo-height); max-width: 100%; object-fit: contain; overflow: hidden; }
main { max-width: var(--width); margin: 0 auto; padding: 1rem 1rem 4rem; }
.narrow { max-width: 26rem; margin: 0 auto; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: .75rem 0 .5rem; }
h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
p { margin: .5rem 0; }
.subtitle, .hint, .small { color: var(--muted); }
.small, .hint { font-size: .875rem; }
.notice { padding: .6rem .9rem; margin: .75rem 0; border-left: 4px solid; border-radius: var(--radius); }
.notice.over { background: var(--over-background); border-color: var(--over); }
.notice.near { background: var(--near-background); border-color: var(--near); }
.notice.success { background: var(--success-background); border-color: var(--link); }
.state.over, .state.near { font-weight: 600; }
.state.over { color: var(--over); } .state.near { color: var(--near); } .state.unlimited { color: var(--muted); }
`

const bars = `
.bar { display: block; width: 100%; height: 1.5rem; border-radius: var(--radius); margin: .5rem 0; }
.bar.thin { height: .6rem; margin: .25rem 0; }
.track { fill: var(--track); }
.halo { stroke: var(--background); stroke-width: 7; }
.limit { stroke: var(--limit); stroke-width: 3; stroke-dasharray: 4 2; }
.part0 { fill: var(--part0); } .part1 { fill: var(--part1); } .part2 { fill: var(--part2); }
.part3 { fill: var(--part3); } .part4 { fill: var(--part4); } .part5 { fill: var(--part5); }
.bar rect[class^=part] { stroke: var(--background); stroke-width: 1; }
.swatch { width: .8em; height: .8em; margin-right: .45em; border-radius: 2px; vertical-align: -.05em; }
.legend, .statuses { list-style: none; padding: 0; margin: .5rem 0; }
.legend { display: flex; flex-wrap: wrap; gap: .15rem 1.25rem; }
.legend data { color: var(--muted); }
.statuses { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 24rem), 1fr)); gap: 1rem 2rem; }
.line { display: flex; align-items: baseline; justify-content: space-between; gap: 1rem; }
.line > :last-child { text-align: right; }
`

const figures = `
figure { margin: .5rem 0; }
.chart { display: block; width: 100%; height: 10rem; background: var(--surface); border-bottom: 1px solid var(--border); }
.chart line { vector-effect: non-scaling-stroke; }
figcaption { color: var(--muted); font-size: .875rem; margin-top: .25rem; }
summary { cursor: pointer; color: var(--link); padding: .25rem 0; }
caption { text-align: left; color: var(--muted); font-size: .875rem; padding: .25rem 0; }
`

const tables = `
table { width: 100%; border-collapse: collapse; }
th, td { text-align: left; padding: .4rem .75rem .4rem 0; border-bottom: 1px solid var(--border); vertical-align: top; }
th { font-size: .875rem; color: var(--muted); font-weight: 600; }
.number { text-align: right; padding: .4rem 0 .4rem .75rem; white-space: nowrap; font-variant-numeric: tabular-nums; }
code { font: .9em/1.4 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; background: var(--surface);
  padding: .1em .3em; border-radius: 3px; }
.pages { display: flex; gap: 1.5rem; align-items: center; margin: 1rem 0; }
`

const forms = `
label { font-weight: 600; }
input, select, textarea, button { font: inherit; color: inherit; max-width: 100%; }
input:not([type=checkbox]), select, textarea { background: var(--background); border: 1px solid var(--muted); border-radius: var(--radius);
  padding: .45rem .6rem; width: 100%; }
button { background: var(--link); color: var(--background); border: 1px solid var(--link); border-radius: var(--radius);
  padding: .45rem 1rem; cursor: pointer; font-weight: 600; }
button.secondary { background: none; color: var(--link); border-color: var(--border); padding: .25rem .75rem; }
button.danger { background: none; color: var(--over); border-color: var(--over); }
.stacked { display: grid; gap: .35rem; justify-items: start; }
.stacked label { margin-top: .6rem; }
.stacked button { margin-top: 1rem; }
.hint { margin: 0; }
.buttons { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; margin: 1rem 0; }
.buttons button, .inline button { margin: 0; }
.inline { display: flex; flex-wrap: wrap; gap: .75rem 1rem; align-items: end; margin: .75rem 0; }
.inline > div { flex: 1 1 12rem; }
fieldset { border: 1px solid var(--border); border-radius: var(--radius); margin: .75rem 0 0; padding: .5rem .9rem; width: 100%; }
legend { font-weight: 600; padding: 0 .3rem; }
.box { display: flex; gap: .6rem; align-items: center; padding: .2rem 0; margin: 0; font-weight: 400; }
.stacked .box { margin: 0; }
.box input { width: 1.1rem; height: 1.1rem; flex: none; accent-color: var(--link); }
.tabs { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin: .5rem 0 1rem; }
.tabs a { padding: .25rem 0; }
.plain { list-style: none; margin: 0; padding: 0; }
.rows .line { align-items: center; padding: .3rem 0; border-bottom: 1px solid var(--border); }
`
