import { readFileSync } from 'node:fs'
import { parse } from 'smol-toml'
import * as v from 'valibot'
import { describeIssue, Options } from '../lib/options.ts'

const { quota, repositories, git, markdown, cors, ...api } = Options.entries

const ServerOptions = v.strictObject({
  host: v.pipe(v.optional(v.string()), v.description('The address to listen on.')),
  port: v.pipe(
    v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(65_535))),
    v.description('The port; 0 picks a free one.'),
  ),
  data: v.pipe(
    v.optional(v.string()),
    v.description('The folder that holds the store and the repositories.'),
  ),
  storage: v.pipe(
    v.optional(v.string()),
    v.description('Where the records are: `level:<folder>` or `memory:`.'),
  ),
})

/** The configuration file: options without a section of their own are under `[api]`, names are in snake_case. */
export const Config = v.strictObject({
  server: v.optional(ServerOptions, {}),
  api: v.optional(v.strictObject(api), {}),
  quota,
  repositories,
  git,
  markdown,
  cors,
})
export type Config = v.InferOutput<typeof Config>

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
