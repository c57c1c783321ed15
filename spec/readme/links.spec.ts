import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { documents, proseOf, readDocument } from './documents.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** The targets of links and images, without those of other sites. */
const targetsIn = (document: string): string[] =>
  [
    ...proseOf(document)
      .replaceAll(/`[^`\n]*`/g, '')
      .matchAll(/\]\(([^()\s]+)\)/g),
  ]
    .map(([, target]) => target!)
    .filter((target) => !/^https?:/.test(target))

/** The anchor that GitHub gives a heading. */
const anchorOf = (heading: string): string =>
  heading
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')

const anchorsIn = (document: string): string[] =>
  [...proseOf(document).matchAll(/^#+ (.*)$/gm)].map(([, heading]) => anchorOf(heading!))

/** Files that npm publishes although `files` does not name them. */
const ALWAYS = ['package.json', 'README.md', 'LICENSE']
const { files } = JSON.parse(readDocument('package.json')) as { files: string[] }
const published = [...ALWAYS, ...files.filter((file) => !file.startsWith('!'))]
const isPublished = (path: string): boolean =>
  published.some((file) => path === file || path.startsWith(`${file}/`))

describe('The links of the documents', () => {
  for (const document of documents)
    it(`in ${document} lead to existing files and headings`, () => {
      for (const target of targetsIn(document)) {
        const [path, anchor] = target.split('#') as [string, string?]
        const file = path === '' ? document : join(dirname(document), path)
        assert.ok(existsSync(join(root, file)), target)
        assert.ok(!isPublished(document) || isPublished(join(file)), `${target} is not in the package`)
        if (anchor !== undefined) assert.ok(anchorsIn(file).includes(anchor), target)
      }
    })
})
