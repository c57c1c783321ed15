import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import type { Brand } from '../../options/pages.ts'
import { forms } from './forms.ts'
import { icons } from './icons.ts'
import { layout, print } from './layout.ts'
import { parts } from './parts.ts'
import { site } from './site.ts'
import { variables } from './variables.ts'

/** The style sheet of the pages with the CSS of the host, their script and their icon. */

/** A file that is the same for all viewers. */
export interface Asset {
  readonly type: string
  readonly text: string
  /**
   * The same compressed, for clients that accept it. Nothing in it is secret, so its size reveals nothing.
   */
  readonly gzip: Buffer
  readonly tag: string
}

/** @returns the files of the pages, by their paths */
export const assetsOf = ({ css }: Brand): Readonly<Record<string, Asset>> => ({
  '/-/style.css': asset(
    'text/css;charset=utf-8',
    [variables, icons, layout, parts, forms, site, print, css].join(''),
  ),
  [SCRIPT_PATH]: asset(
    'text/javascript;charset=utf-8',
    readFileSync(new URL('./pages-script.js', import.meta.url), 'utf8'),
  ),
  [ICON_PATH]: asset('image/svg+xml', ICON),
})

/** The script of the pages, which build.mjs copies beside the modules. Everything works without it. */
export const SCRIPT_PATH = '/-/script.js'
export const ICON_PATH = '/-/icon.svg'

const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#1a56cf"/><rect x="7" y="8" width="18" height="4" rx="2" fill="#fff"/><rect x="7" y="14" width="13" height="4" rx="2" fill="#fff" fill-opacity=".8"/><rect x="7" y="20" width="8" height="4" rx="2" fill="#fff" fill-opacity=".55"/></svg>'

const asset = (type: string, text: string): Asset => ({
  type,
  text,
  gzip: gzipSync(text),
  tag: `"${createHash('sha1').update(text).digest('base64url')}"`,
})
