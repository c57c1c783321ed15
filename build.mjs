import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { brotliCompressSync, constants } from 'node:zlib'

/*
 * Builds the package: `node build.mjs`. With `--if-changed`, as `npm start` runs it, only when a source is newer than the
 * last build. The library, the drivers and the command line come from one run of esbuild and share their modules. Declarations
 * are written by `tsc -p tsconfig.build.json` afterwards.
 */

const require = createRequire(import.meta.url)
const { dependencies, optionalPeers } = packages()

/**
 * Packages that every start needs. They are bundled, since loading them file by file doubles the time of an import. All others
 * stay where npm installs them, and most are loaded when they are first used.
 */
const BUNDLED = ['commander', 'find-my-way', 'ipaddr.js', 'lru-cache', 'valibot']

const ENTRY_POINTS = {
  'lib/index': 'lib/index.ts',
  'lib/fastify': 'lib/fastify.ts',
  'lib/storage/index': 'lib/storage/index.ts',
  'lib/worker': 'lib/markdown/worker.ts',
  'lib/keys-worker': 'lib/keys/worker.ts',
  'lib/highlight-worker': 'lib/web/source/worker.ts',
  'drivers/level/index': 'drivers/level/index.ts',
  'drivers/memory/index': 'drivers/memory/index.ts',
  'drivers/postgres/index': 'drivers/postgres/index.ts',
  'spec/driver-spec': 'spec/driver-spec.ts',
  'spec/driver-spec/writer': 'spec/driver-spec/writer.ts',
  'bin/allot': 'bin/allot.ts',
}

/** Bundled CommonJS packages call `require` for modules of Node. */
const REQUIRE =
  "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url)"

/** Written last, so its time is the time of the build. */
const NOTICES = 'dist/bundled.LICENSE.txt'

/**
 * Whitespace is removed, which halves the time to load a module. Names stay, so that stack traces can be read,
 * and lines are short, since Node prints the line of an error that is not caught above its message.
 */
const bundle = async () => {
  const { build } = await import('esbuild')
  const { metafile } = await build({
    ...{ entryPoints: ENTRY_POINTS, outdir: 'dist', chunkNames: 'lib/[name]-[hash]' },
    ...{ bundle: true, splitting: true, format: 'esm', platform: 'node', target: 'node20.12' },
    ...{ minifyWhitespace: true, minifySyntax: true, lineLimit: 120 },
    ...{ sourcemap: true, metafile: true, logLevel: 'warning' },
    banner: { js: REQUIRE },
    external: [...dependencies, ...optionalPeers].filter((name) => !BUNDLED.includes(name)),
  })
  return Object.keys(metafile.inputs)
}

/** The client runs in browsers too, so it is built without modules of Node and shares none with the server. */
const buildClient = async () => {
  const { build } = await import('esbuild')
  await build({
    ...{
      entryPoints: { 'client/index': 'lib/client/index.ts' },
      outdir: 'dist/lib',
      bundle: true,
      packages: 'external',
      sourcemap: true,
    },
    ...{ format: 'esm', target: 'es2022', minifyWhitespace: true, lineLimit: 120, logLevel: 'warning' },
  })
}

/** The folders of the packages that files are from. */
const packageFolders = (/** @type {string[]} */ files) => [
  ...new Set(files.flatMap((file) => file.match(/^.*node_modules\/(?:@[^/]+\/)?[^/]+/) ?? [])),
]

/** The licenses of the packages in the folders. */
const notices = (/** @type {string[]} */ folders) =>
  folders
    .sort()
    .map((folder) => {
      const { name, version, license } = readJson(`${folder}/package.json`)
      const file = readdirSync(folder).find((entry) => /^(?:licen[cs]e|copying)/i.test(entry))
      if (file === undefined) throw new Error(`${name} has no license file, so it cannot be bundled`)
      return `${name} ${version} (${license})\n\n${readFileSync(`${folder}/${file}`, 'utf8').trim()}\n`
    })
    .join(`\n${'-'.repeat(80)}\n\n`)

const VIEWER = 'openapi-explorer.min.js'

/** Copies the viewer of the API reference, one script that contains its dependencies, beside the modules that send it. */
const copyViewer = () => {
  const folder = resolve('node_modules/openapi-explorer')
  cpSync(`${folder}/dist/browser/${VIEWER}`, `dist/lib/${VIEWER}`)
  const licensed = withDependencies(folder).filter((path) => !path.endsWith(SERVER_RENDERING))
  writeFileSync(`dist/lib/${VIEWER}.LICENSE.txt`, notices(licensed))
}

/** A dependency of the viewer without a license file, which scripts for browsers do not contain. */
const SERVER_RENDERING = '@lit-labs/ssr-dom-shim'

/** The folder of a package, and the folders of all packages that it depends on. @returns {string[]} */
const withDependencies = (/** @type {string} */ folder, /** @type {string[]} */ found = []) => {
  if (found.includes(folder)) return found
  found.push(folder)
  const { resolve: resolver } = createRequire(`${folder}/package.json`)
  for (const name of Object.keys(readJson(`${folder}/package.json`).dependencies ?? {})) {
    // With the slash, `buffer/` is a package and not Node's module.
    const folders = (resolver.paths(`${name}/`) ?? []).map((modules) => `${modules}/${name}`)
    withDependencies(folders.find(existsSync) ?? name, found)
  }
  return found
}

/** Writes the texts of all licenses as one compressed file. Their package has them as HTML, too, and takes 12 MB. */
const writeLicenses = () => {
  const licenses = Object.entries(require('spdx-license-list/full'))
  const texts = Object.fromEntries(licenses.map(([name, { licenseText }]) => [name, licenseText]))
  const params = { [constants.BROTLI_PARAM_QUALITY]: 6 }
  writeFileSync('dist/lib/licenses.json.br', brotliCompressSync(JSON.stringify(texts), { params }))
}

function packages() {
  const { dependencies = {}, peerDependencies = {} } = readJson('package.json')
  return { dependencies: Object.keys(dependencies), optionalPeers: Object.keys(peerDependencies) }
}

function readJson(/** @type {string} */ file) {
  return JSON.parse(readFileSync(file, 'utf8'))
}

const SOURCES = ['bin', 'drivers', 'lib', 'build.mjs', 'package.json', 'package-lock.json']

/** The newest time of change of the files and of all files below the folders. */
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

// A server that runs may still load modules of the last build, so only a whole build removes them.
const isWhole = !process.argv.includes('--if-changed')
if (isWhole) rmSync('dist', { recursive: true, force: true })
if (!existsSync('node_modules/esbuild')) {
  process.stderr.write('The packages are not installed: run npm ci first.\n')
  process.exitCode = 1
} else if (isWhole || !isCurrent()) {
  mkdirSync('dist/lib', { recursive: true })
  copyViewer()
  cpSync('lib/web/styles/pages-script.js', 'dist/lib/pages-script.js')
  writeLicenses()
  await buildClient()
  writeFileSync(NOTICES, notices(packageFolders(await bundle())))
}
