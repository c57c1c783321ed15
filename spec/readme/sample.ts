import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import * as v from 'valibot'
import { Config } from '../../bin/config/config.ts'
import { membersOf, type Row, rowsOf, snake } from './options.ts'

export const SAMPLE = fileURLToPath(new URL('../../examples/allot.toml', import.meta.url))

/**
 * Example values of options without a default, by full name, or by last name where several options share one.
 */
const EXAMPLES: Readonly<Record<string, string>> = {
  'server.storage': '"postgres://allot@db.example.org/allot?sslmode=verify-full"',
  'server.tlsCertificate': '"/etc/allot/fullchain.pem"',
  'server.tlsKey': '"/etc/allot/privkey.pem"',
  'server.redirectPort': '80',
  'server.maxConnectionsPerAddress': '250',
  'storage.schema': '"allot"',
  'storage.connections': '10',
  'storage.connectTimeout': '5000',
  'storage.statementTimeout': '20000',
  'storage.writeTimeout': '25000',
  'storage.retries': '30',
  'api.baseUrl': '"https://git.example.org"',
  'api.avatarUrl': '"https://people.example.org/{username}.png"',
  'repositories.directory': '"/srv/repositories"',
  'files.directory': '"/srv/files"',
  'quota.defaultTotal': '"20 GiB"',
  'git.maxConcurrentPerClient': '8',
  'ssh.port': '22',
  'ssh.publicPort': '2222',
  'ssh.host': '"git.example.org"',
  'ssh.hostKey': '"/etc/allot/ssh_host_key"',
  'ssh.maxConnectionsPerAddress': '50',
  'pages.logo': '"https://cdn.example.org/logo.svg"',
  'pages.backUrl': '"https://example.org/"',
  'htmlUrls.pages': '""',
  'htmlUrls.user': '"https://example.org/people/{username}"',
  'htmlUrls.organization': '"https://example.org/teams/{org}"',
  'htmlUrls.repository': '"https://code.example.org/{owner}/{repo}"',
  'htmlUrls.issue': '"https://code.example.org/{owner}/{repo}/issues/{index}"',
  'htmlUrls.release': '"https://code.example.org/{owner}/{repo}/releases/{tag}"',
  'htmlUrls.package': '"https://code.example.org/{owner}/packages/{type}/{name}/{version}"',
  'htmlUrls.comment': '"/{owner}/{repo}/issues/{index}#issuecomment-{id}"',
  'git.maxPushSize': '"2 GiB"',
  maxSize: '"2 GiB"',
}

const WIDTH = 100

const wrapped = (text: string): string[] => {
  const lines = ['#']
  for (const word of text.split(' ')) {
    if (`${lines.at(-1)} ${word}`.length > WIDTH) lines.push('#')
    lines.push(`${lines.pop()} ${word}`)
  }
  return lines
}

const exampleOf = ({ option, fallback }: Row): string => {
  const value =
    fallback === ''
      ? (EXAMPLES[option] ?? EXAMPLES[option.replace(/^.*\./, '')])
      : fallback.replaceAll('`', '')
  if (value === undefined) throw new Error(`${option} has no default: add an example to EXAMPLES`)
  return value
}

const entryOf = (row: Row): string[] => {
  const absent = row.fallback === '' ? ' Absent by default.' : ''
  return ['', ...wrapped(row.description + absent), `#${nameOf(row)} = ${exampleOf(row)}`]
}

const nameOf = ({ key }: Row): string => key.slice(key.indexOf(' ') + 1)

const BEGIN = [
  '# Every option of `allot serve --config FILE` with its default. To change an option, remove the # before it,',
  '# and before its section, which by itself turns on what is off by default.',
  '# Sizes are bytes, or as in "2 GiB"; times are milliseconds. The server refuses unknown names and wrong values.',
]

/** The text of a configuration file with every option and its description, from the schema. */
export const sample = (): string => {
  const sections = Object.entries(membersOf(Config)).map(([name, member]) => {
    const rows = rowsOf({ [name]: member })
    const mark = v.getDefault(member) === false ? '#' : ''
    return ['', `${mark}[${snake(name)}]`, ...rows.flatMap(entryOf)].join('\n')
  })
  return `${[...BEGIN, ...sections].join('\n')}\n`
}

// `npx tsx spec/readme/sample.ts` updates the file.
if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(SAMPLE, sample())
