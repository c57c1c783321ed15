import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import * as v from 'valibot'
import type { PostgresOptions } from '../../drivers/postgres/index.ts'
import { recordOf } from '../../lib/http/validate.ts'
import { describeOptionIssue, enabled, nonEmptyText, Size } from '../../lib/options/checks.ts'
import { Options } from '../../lib/options/index.ts'
import { PageSections } from '../../lib/options/pages.ts'
import { Subject } from '../../lib/quota/subjects.ts'
import { ServerLimits } from '../../lib/server.ts'
import { readFault } from '../errors.ts'
import { storageForms } from './drivers.ts'
import { addEnvironment, variableOf } from './environment.ts'

/** Options of `createAllot` that have a section of their own. */
const SECTIONS = [
  'quota',
  'repositories',
  'git',
  'contents',
  'ssh',
  'files',
  'attachments',
  'lfs',
  'packages',
  'webhooks',
  'markdown',
  'cors',
  'login',
  'pages',
  'htmlUrls',
] as const

/** The options that have options of their own. */
type Section = {
  [Name in keyof Options]-?: Extract<Options[Name], object> extends never ? never : Name
}[keyof Options]
/** No value has this type while a section is missing in `SECTIONS`. */
type WithoutSections = Record<string, unknown> & { readonly [Name in Section]?: never }

const { data, ...api } = v.omit(Options, SECTIONS).entries satisfies WithoutSections

/** What `host` and `--host` must be: without an address, Node would listen on all of them. */
export const ADDRESS = 'an address, such as 127.0.0.1, or 0.0.0.0 for all'

const Port = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(65_535))

/** Options of the standalone server only. */
export const ServerOptions = v.strictObject({
  /** Address to listen on. Default: `"127.0.0.1"`. */
  host: v.optional(nonEmptyText(ADDRESS), '127.0.0.1'),
  /** Port to listen on; 0 picks a free port. Default: `3000`. */
  port: v.optional(Port, 3000),
  /**
   * PEM file with the certificate of the server, followed by those of its issuers. With `tls_key`, the server
   * speaks https. SIGHUP makes it read both files again.
   */
  tlsCertificate: v.optional(nonEmptyText('a file')),
  /** PEM file with the private key of `tls_certificate`, without a passphrase. */
  tlsKey: v.optional(nonEmptyText('a file')),
  /** Port for http whose requests are redirected to https; 0 picks a free port. */
  redirectPort: v.optional(Port),
  /**
   * Whether browsers are told to use only https for this host name, on every port, for a year
   * (`Strict-Transport-Security`). Default: `false`.
   */
  hsts: v.optional(v.boolean(), false),
  data,
  /**
   * Where records are stored: `level:<folder>`, `postgres://…` or `memory:`; in the data folder when absent.
   */
  storage: v.optional(nonEmptyText(storageForms('`'))),
  /** Whether the web pages are served, at `/`. Default: `true`. */
  pages: enabled,
  /**
   * Who may read `/-/metrics`: with `token`, requests with an administrator's token that has the scope
   * `read:admin`; with `loopback`, also requests from this machine. A proxy on this machine turns every
   * request into one of those. Default: `"off"`.
   */
  metrics: v.optional(v.picklist(['off', 'token', 'loopback']), 'off'),
  /**
   * What is logged: `failures` only, or with `requests` also a line for each request, with the id that the
   * response has in `X-Request-Id`. Default: `"failures"`.
   */
  log: v.optional(v.picklist(['failures', 'requests']), 'failures'),
  ...ServerLimits.entries,
})

const positive = v.optional(v.pipe(v.number(), v.integer(), v.minValue(1)))

/** Options of the PostgreSQL driver that a configuration file cannot have. */
type CodeOnly = 'exclusive' | 'tls'

/** Options of the PostgreSQL driver. The compiler asks for each that is not {@link CodeOnly}. */
export const StorageOptions = v.strictObject({
  /** Schema of the tables. */
  schema: v.optional(nonEmptyText('the name of a schema')),
  /** Connections of each process. */
  connections: positive,
  /** Milliseconds to wait for a connection. */
  connectTimeout: positive,
  /** Milliseconds for one statement of a write; one of a read has at most 4,500. */
  statementTimeout: positive,
  /** Milliseconds in which a write is acknowledged or refused while the database does not reply. */
  writeTimeout: positive,
  /** How often writes run again after conflicts with those of other processes. */
  retries: positive,
} satisfies Record<Exclude<keyof PostgresOptions, CodeOnly>, v.GenericSchema>)

/**
 * The configuration file. Options of `createAllot` without a section of their own are in `[api]`, except
 * `data`, which is in `[server]`; keys are in snake_case. Those of a host's own login are left out.
 */
export const Config = v.strictObject({
  server: v.optional(ServerOptions, {}),
  storage: v.optional(StorageOptions, {}),
  api: v.optional(v.strictObject(api), {}),
  ...v.pick(Options, SECTIONS).entries,
  pages: v.optional(v.omit(PageSections.entries.pages.wrapped, ['loginUrl', 'logoutUrl']), {}),
})
export type Config = v.InferOutput<typeof Config>

/** The limits that `createLimitedServer` takes. */
export const limitsIn = ({ server, api }: Config): ServerLimits => {
  const limits = v.parse(v.object(ServerLimits.entries), server)
  return { ...limits, trustedProxies: api.trustedProxies }
}

/**
 * Reads the configuration file and the environment, whose options win; every other option has its default.
 * @throws Error with one line for every option that is unknown or has a wrong value
 */
export const readConfig = (file: string | undefined, environment = process.env): Config => {
  const content = file === undefined ? {} : (toCamelCase(readToml(file)) as Record<string, unknown>)
  const added = addEnvironment(content, Config, environment)
  const sources = [...(file === undefined ? [] : [file]), ...(added.size > 0 ? ['the environment'] : [])]
  return checkFile(sources.join(' and '), Config, content, (path, beside = path) =>
    added.has(beside.replace(/\[.*/, '')) ? variableOf(path) : toSnakeCase(path),
  )
}

const STANDARD_INPUT = 0

/** @param file `-` reads standard input */
const readToml = (file: string): unknown => {
  try {
    return parseToml(readFileSync(file === '-' ? STANDARD_INPUT : file, 'utf8'))
  } catch (error) {
    throw new Error(`${file} cannot be read: ${readFault(error)}`)
  }
}

/** Loads the parser: most servers start without a file. */
const parseToml = (text: string): unknown => {
  if (text.trimStart().startsWith('{')) throw new Error('it must be TOML, and begins like JSON')
  const { parse } = createRequire(import.meta.url)('smol-toml') as typeof import('smol-toml')
  return parse(text)
}

const checkFile = <S extends v.GenericSchema>(
  file: string,
  schema: S,
  content: unknown,
  spell?: Parameters<typeof describeOptionIssue>[2],
): v.InferOutput<S> => {
  const { success, output, issues } = v.safeParse(schema, content)
  if (success) return output
  const lines = issues
    .flatMap((issue) => describeOptionIssue(issue, schema, spell))
    .map((line) => `\n  ${line}`)
  throw new Error(`${file}:${lines.join('')}`)
}

/**
 * The content of a file with its keys in camelCase, as the schema has them. Only snake_case is accepted: a
 * capital of the file gets an underscore before it, so that the schema does not know the key.
 */
const toCamelCase = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(toCamelCase)
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key.replace(/_([a-z])|[A-Z]/g, (found, letter?: string) => letter?.toUpperCase() ?? `_${found}`),
      toCamelCase(member),
    ]),
  )
}

/** Writes the path of an option as it is in the file: the reverse of `toCamelCase`. */
export const toSnakeCase = (path: string): string =>
  path.replace(/(_?)([A-Z])/g, (_, underscore: string, letter: string) =>
    underscore === '' ? `_${letter.toLowerCase()}` : letter,
  )

const names = v.array(v.string())

const PlannedRule = v.pipe(
  v.strictObject({ name: v.string(), limit: Size, subjects: v.optional(v.array(Subject), []) }),
  v.forward(
    v.check(
      ({ subjects }) => subjects.length > 0,
      'expected at least one subject, such as ["size:all"]: a rule limits only its subjects',
    ),
    ['subjects'],
  ),
)
const PlannedGroup = v.strictObject({ name: v.string(), rules: v.optional(names, []) })

/** @param name of the list, whose elements are tables */
const tables = <S extends v.GenericSchema>(name: string, element: S) =>
  v.optional(v.array(element, `expected a list: begin each of its elements with [[${name}]]`), [])

/** The file that `allot quota apply` reads: all rules, groups and assignments that should exist. */
const PlanFile = v.strictObject({
  prune: v.optional(v.boolean(), false),
  rules: tables('rules', PlannedRule),
  groups: tables('groups', PlannedGroup),
  assignments: v.optional(recordOf(names), {}),
})
export type PlanFile = v.InferOutput<typeof PlanFile>

/**
 * @param file `-` reads standard input
 * @throws Error with one line for every key that is unknown or has a wrong value
 */
export const readPlan = (file: string): PlanFile => checkFile(file, PlanFile, readToml(file))
