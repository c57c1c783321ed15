import { readFileSync } from 'node:fs'
import { parse } from 'smol-toml'
import * as v from 'valibot'
import { describeIssue, Options } from '../../lib/options.ts'
import { ServerLimits } from '../../lib/server.ts'

const { quota, repositories, git, files, attachments, lfs, packages, markdown, cors, login, page, ...api } =
  Options.entries

/** What concerns the standalone server alone. */
export const ServerOptions = v.strictObject({
  host: v.pipe(v.optional(v.string(), '127.0.0.1'), v.description('The address to listen on.')),
  port: v.pipe(
    v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(65_535)), 3000),
    v.description('The port; 0 picks a free one.'),
  ),
  data: v.pipe(
    v.optional(v.string(), './data'),
    v.description('The folder that holds the store, the repositories and the files.'),
  ),
  storage: v.pipe(
    v.optional(v.string()),
    v.description(
      'Where the records are: `level:<folder>`, `postgres://…` or `memory:`; in the data folder when absent.',
    ),
  ),
  page: v.pipe(
    v.optional(v.boolean(), true),
    v.description('Whether the pages for people are served, at `/`.'),
  ),
  metrics: v.pipe(
    v.optional(v.picklist(['off', 'token', 'loopback']), 'off'),
    v.description(
      'Who may read `/-/metrics`: with `token` whoever sends a token of an administrator with the scope `read:admin`; with `loopback` also whoever asks from this very machine, which a proxy on it does for everyone.',
    ),
  ),
  log: v.pipe(
    v.optional(v.picklist(['failures', 'requests']), 'failures'),
    v.description(
      'What is logged: failures alone, or with `requests` a line for each request, with an id that `X-Request-Id` has, too.',
    ),
  ),
  ...ServerLimits.entries,
})

const several = v.optional(v.pipe(v.number(), v.integer(), v.minValue(1)))

/** What PostgreSQL is used with; times are milliseconds. */
const StorageOptions = v.strictObject({
  schema: v.pipe(v.optional(v.string()), v.description('The schema of the tables.')),
  readers: v.pipe(several, v.description('Connections that read.')),
  writers: v.pipe(several, v.description('Connections that write.')),
  connectTimeout: v.pipe(several, v.description('How long to wait for a connection.')),
  statementTimeout: v.pipe(several, v.description('How long one statement may take.')),
  retries: v.pipe(several, v.description('How often a write is begun again when others are in its way.')),
})

/** The configuration file: options without a section of their own are under `[api]`, names are in snake_case. */
export const Config = v.strictObject({
  server: v.optional(ServerOptions, {}),
  storage: v.optional(StorageOptions, {}),
  api: v.optional(v.strictObject(api), {}),
  quota,
  repositories,
  git,
  files,
  attachments,
  lfs,
  packages,
  markdown,
  cors,
  login,
  page,
})
export type Config = v.InferOutput<typeof Config>

/** What the server puts up with from its clients. */
export const limitsIn = ({ server, api }: Config): ServerLimits => {
  const { host, port, data, storage, page, metrics, log, ...limits } = server
  return { ...limits, trustedProxies: api.trustedProxies }
}

/** @throws Error with a line for every key that is unknown or wrong. */
export const readConfig = (file: string | undefined): Config => {
  if (file === undefined) return v.parse(Config, {})
  const result = v.safeParse(Config, camelCased(parsed(file)))
  if (result.success) return result.output
  const lines = result.issues.map((issue) => snakeCased(describeIssue(issue)))
  throw new Error(`${file}:\n  ${lines.join('\n  ')}`)
}

const parsed = (file: string): unknown => {
  try {
    return parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new Error(`${file} cannot be read: ${(error as Error).message.split('\n')[0]}`)
  }
}

/** Capitals stay wrong: `defaultGroups` is no key of the file. */
const camelCased = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(camelCased)
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      /[A-Z]/.test(key) ? `${key} ` : key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      camelCased(member),
    ]),
  )
}

const snakeCased = (line: string): string => {
  const end = line.indexOf(':')
  const path = line.slice(0, end)
  if (path.endsWith(' ')) return `${path.trimEnd()}${line.slice(end)}`
  return path.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) + line.slice(end)
}
