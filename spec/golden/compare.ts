import type { Answer } from '../support/test-server.ts'
import { htmlDifferences } from './html.ts'
import type { Recording } from './recordings.ts'

/** The headers that are compared. `Allow` is compared as a set. */
const HEADERS = ['content-type', 'x-total-count', 'link', 'allow', 'location']

/** URL of the recorded server. */
export const RECORDED_HOST = 'http://127.0.0.1:3300'

type Line = (place: string, recorded: unknown, answered: unknown) => void

/**
 * Compares an answer with the recorded one.
 * @param host where the answer comes from, without a slash at the end.
 * @returns one line for each difference, such as `status 401 → 200`, `body[].email "a" → "b"` or
 *   `body[] lacks language`. When the statuses differ, bodies and headers are not compared.
 */
export const differencesOf = ({ response }: Recording, answer: Answer, host: string): string[] => {
  if (response.status !== answer.status) return [`status ${response.status} → ${answer.status}`]
  const lines: string[] = []
  const line: Line = (place, recorded, answered) =>
    lines.push(`${place} ${shown(recorded)} → ${shown(answered)}`)
  for (const name of HEADERS) {
    const recorded = normalHeader(name, response.headers[name], RECORDED_HOST)
    const answered = normalHeader(name, answer.headers.get(name) ?? undefined, host)
    if (recorded !== answered) line(`header ${name}`, recorded, answered)
  }
  if (answer.headers.get('content-type')?.startsWith('text/html')) {
    const [left, right] = [String(response.body ?? ''), answer.text.replaceAll(host, RECORDED_HOST)]
    return [...lines, ...htmlDifferences(left, right)]
  }
  const isError = response.status >= 400
  const recorded = normal(response.body ?? '', RECORDED_HOST, isError)
  const answered = normal(answer.body ?? answer.text, host, isError)
  if (response.body_keys === undefined) compare('body', recorded, answered, lines, line)
  else compareNames(response.body_keys, recorded, answered, lines, line)
  return lines
}

const compare = (place: string, recorded: unknown, answered: unknown, lines: string[], line: Line): void => {
  if (Array.isArray(recorded) && Array.isArray(answered)) compareLists(place, recorded, answered, lines, line)
  else if (isObject(recorded) && isObject(answered)) {
    for (const name of Object.keys(recorded))
      if (name in answered) compare(`${place}.${name}`, recorded[name], answered[name], lines, line)
      else lines.push(`${place} lacks ${name}`)
    for (const name of Object.keys(answered)) if (!(name in recorded)) lines.push(`${place} adds ${name}`)
  } else if (recorded !== answered) line(place, recorded, answered)
}

/** A long list keeps its first items, and a text such as `… 3 more` as its last. */
const compareLists = (
  place: string,
  recorded: unknown[],
  answered: unknown[],
  lines: string[],
  line: Line,
): void => {
  const more = /^… (\d+) more$/.exec(String(recorded.at(-1)))
  const kept = more === null ? recorded : recorded.slice(0, -1)
  const length = kept.length + Number(more?.[1] ?? 0)
  if (length !== answered.length) lines.push(`${place}.length ${length} → ${answered.length}`)
  for (const [index, item] of kept.entries())
    if (index < answered.length) compareItems(`${place}[]`, item, answered[index], lines, line)
}

/** Members of two different repositories are not compared. */
const compareItems: typeof compare = (place, recorded, answered, lines, line) => {
  const [left, right] = [recorded, answered].map((item) => (isObject(item) ? item.full_name : undefined))
  if (typeof left === 'string' && typeof right === 'string' && left !== right)
    line(`${place}.full_name`, left, right)
  else compare(place, recorded, answered, lines, line)
}

/** Distinguishes a shorter page from a page with other items. */
const compareNames = (
  names: (string | number)[],
  recorded: unknown,
  answered: unknown,
  lines: string[],
  line: Line,
): void => {
  const [first, items] = [listIn(recorded), listIn(answered)]
  if (items === undefined) return line('body', recorded, answered)
  // Keys are named by their ids, which differ between any two servers.
  const found = names.every((name) => typeof name === 'number')
    ? names.slice(0, items.length)
    : items.map(nameOf)
  const isStart = names.slice(0, found.length).join() === found.join()
  if (isStart && found.length < names.length) lines.push(`body.length ${names.length} → ${found.length}`)
  else if (names.join() !== found.join()) line('body names', names, found)
  if (items.length > 0) compareItems('body[]', first?.[0], items[0], lines, line)
}

const listIn = (body: unknown): unknown[] | undefined => {
  if (Array.isArray(body)) return body
  return isObject(body) && Array.isArray(body.data) ? body.data : undefined
}

const nameOf = (item: unknown): unknown => {
  const { login, title, name, key_id } = item as Record<string, unknown>
  return login ?? title ?? name ?? key_id
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const normalHeader = (name: string, value: string | undefined, host: string): string | undefined => {
  if (value === undefined) return undefined
  if (name === 'allow') return value.split(/, */).sort().join(', ')
  return value.replaceAll(host, '<host>').replaceAll(/, *</g, ', <')
}

/** Replaces what differs between any two servers: hosts, times, ids, hashes and tokens. Zero times stay. */
const normal = (value: unknown, host: string, isError: boolean, name = ''): unknown => {
  if (Array.isArray(value)) return value.map((item) => normal(item, host, isError, name))
  if (isObject(value))
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, normal(item, host, isError, key)]),
    )
  if (name === 'id' && typeof value === 'number') return '<id>'
  return typeof value === 'string' ? normalText(value, host, isError, name) : value
}

/** Error messages are not compared. */
const normalText = (value: string, host: string, isError: boolean, name: string): string => {
  if (value === '') return value
  if (isError && ['message', 'url', ''].includes(name)) return `<${name || 'text'}>`
  if (name === 'sha1' || name === 'token_last_eight' || name === 'uuid') return `<${name}>`
  if (/^\d{4}-\d\d-\d\dT[\d:]{8}Z$/.test(value) && !/^(0001|1970)/.test(value)) return '<time>'
  return value
    .replaceAll(host, '<host>')
    .replace(/\/avatars\/[\w.-]+$/, '/avatars/<hash>')
    .replace(/\/assets\/\d+$/, '/assets/<id>')
    .replace(/\/user\/keys\/\d+$/, '/user/keys/<id>')
    .replace(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/, '<uuid>')
}

const shown = (value: unknown): string => {
  if (value === undefined) return 'absent'
  const text = JSON.stringify(value)
  return text.length > 160 ? `${text.slice(0, 159)}…` : text
}
