import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'

/**
 * Puts together what is published: `node build.mjs` all of it, `node build.mjs bin` the command line alone, which is
 * what `npm start` runs, and that only where something has changed since it was put together.
 */

/** @type {import('esbuild').BuildOptions} */
const SHARED = {
  ...{ bundle: true, splitting: true, format: 'esm', platform: 'node', target: 'node20.12' },
  ...{ sourcemap: true, logLevel: 'warning' },
}

/** @param {import('esbuild').BuildOptions} options */
const build = async (options) => (await import('esbuild')).build({ ...SHARED, ...options })

/** The library's packages are its host's to choose and to mend, so they stay where npm puts them. */
const library = () =>
  build({
    entryPoints: {
      'lib/index': 'lib/index.ts',
      'lib/storage/index': 'lib/storage/index.ts',
      'lib/worker': 'lib/markdown/worker.ts',
      'lib/keys-worker': 'lib/keys/worker.ts',
      'drivers/level/index': 'drivers/level/index.ts',
      'drivers/memory/index': 'drivers/memory/index.ts',
      'drivers/postgres/index': 'drivers/postgres/index.ts',
      'spec/driver-spec': 'spec/driver-spec.ts',
      'spec/driver-spec/writer': 'spec/driver-spec/writer.ts',
    },
    ...{ outdir: 'dist', chunkNames: 'lib/[name]-[hash]', packages: 'external' },
  })

/**
 * What every start of the command line loads. Found file by file these packages take a quarter of the time until the
 * server answers, so it carries them with it. The others are loaded when they are first needed.
 */
const CARRIED = [
  ...['classic-level', 'commander', 'find-my-way', 'ipaddr.js', 'level'],
  ...['lru-cache', 'pino', 'valibot'],
]

const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8'))

/** What is compiled of LevelDB stays where npm has put it. */
const BINDING = `
  const { dirname } = require('node:path')
  module.exports = require('node-gyp-build')(dirname(require.resolve('classic-level/package.json')))
`

/** @type {import('esbuild').Plugin} */
const binding = {
  name: 'binding',
  setup: ({ onLoad }) => onLoad({ filter: /classic-level.binding\.js$/ }, () => ({ contents: BINDING })),
}

/** CommonJS that is carried asks for modules of Node as CommonJS does. */
const REQUIRE =
  "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url)"

/** Written last: where it is, all is. */
const NOTICES = 'dist/bin/carried.LICENSE.txt'

const commandLine = async () => {
  const { metafile } = await build({
    entryPoints: {
      allot: 'bin/allot.ts',
      worker: 'lib/markdown/worker.ts',
      'keys-worker': 'lib/keys/worker.ts',
    },
    ...{ outdir: 'dist/bin', metafile: true, plugins: [binding], banner: { js: REQUIRE } },
    external: Object.keys(dependencies).filter((name) => !CARRIED.includes(name)),
  })
  writeFileSync(NOTICES, notices(Object.keys(metafile.inputs)))
}

/**
 * The licences of the packages whose files these are.
 *
 * @param {string[]} files
 */
const notices = (files) => {
  const folders = new Set(files.flatMap((file) => file.match(/^.*node_modules\/(?:@[^/]+\/)?[^/]+/) ?? []))
  return [...folders]
    .sort()
    .map((folder) => {
      const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'))
      const file = readdirSync(folder).find((one) => /^(?:licen[cs]e|copying)/i.test(one))
      if (file === undefined) throw new Error(`${name} has no licence that could be handed on`)
      return `${name} ${version} (${license})\n\n${readFileSync(`${folder}/${file}`, 'utf8').trim()}\n`
    })
    .join(`\n${'-'.repeat(80)}\n\n`)
}

/**
 * The viewer of the API's document lies beside the modules that send it.
 *
 * @param {string} folder
 */
const viewer = (folder) => {
  mkdirSync(folder, { recursive: true })
  for (const file of ['rapidoc-min.js', 'rapidoc-min.js.LICENSE.txt'])
    cpSync(`node_modules/rapidoc/dist/${file}`, `${folder}/${file}`)
}

const SOURCES = ['bin', 'drivers', 'lib', 'build.mjs', 'package.json', 'package-lock.json']

/** When the newest of these files and of all below these folders was changed. A folder is when it loses a file, too. */
const newest = (/** @type {string[]} */ paths) => {
  let latest = 0
  for (const path of paths) {
    const stat = statSync(path)
    const below = stat.isDirectory() ? newest(readdirSync(path).map((name) => `${path}/${name}`)) : 0
    latest = Math.max(latest, stat.mtimeMs, below)
  }
  return latest
}

const isCurrent = () => existsSync(NOTICES) && statSync(NOTICES).mtimeMs > newest(SOURCES)

const isWhole = process.argv[2] !== 'bin'
if (isWhole || !isCurrent()) {
  viewer('dist/bin')
  await commandLine()
}
if (isWhole) {
  viewer('dist/lib')
  await library()
}
