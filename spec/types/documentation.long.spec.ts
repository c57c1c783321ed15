import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { atEnd } from '../support/cleanup.ts'
import { Declarations, PublicMembers } from './public-types.ts'
import { reference } from './reference.ts'

interface Manifest {
  dependencies: Record<string, string>
}

describe('The published declarations', () => {
  let declarations: Declarations
  let members: PublicMembers

  before(() => {
    declarations = new Declarations()
    atEnd(() => declarations.close())
    members = new PublicMembers(declarations)
  })

  it('describe every export and every member that a host reaches from one', () => {
    const undocumented = [...members.found.values()]
      .filter(({ symbol }) => declarations.documentationOf(symbol) === '')
      .map(({ name, file }) => `${file}: ${name}`)
    assert.deepEqual(undocumented.sort(), [])
  })

  it('are walked from every entry point, through services, records, options and results', () => {
    const names = new Set([...members.found.values()].map(({ name }) => name))
    const expected = [
      ...[
        'createAllot',
        'createQuota',
        'level',
        'memory',
        'postgres',
        'allotFastify',
        'createClient',
        'driverSpec',
      ],
      ...['Allot.handler', 'Accounts.createUser', 'Issues.list', 'Ledger.put', 'StorageDriver.write'],
      ...[
        'Account.createdAt',
        'Repository.lfs',
        'DataOptions.quota',
        'QuotaSettings.warnAt',
        'LimitOptions.maxHeaders',
      ],
      ...[
        'HostQuota.rules',
        'RuleExplanation.covers',
        'ServerLimits.trustedProxies',
        'RefEvent.ref',
        'Page.total',
      ],
    ]
    assert.deepEqual(
      expected.filter((name) => !names.has(name)),
      [],
    )
    assert.ok(names.size > 600, `${names.size} names`)
  })

  it('name only packages that every host has installed, besides Fastify in its plugin', () => {
    const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as Manifest
    const missing = [...declarations.packages()].filter(([name]) => !(name in dependencies))
    assert.deepEqual(missing, [['fastify', join('lib', 'fastify.d.ts')]])
  })

  it('are in the reference of the package', () => {
    const page = reference(declarations, members)
    for (const [, exports] of declarations.entries())
      for (const { name } of exports) assert.ok(page.includes(`\n### ${name}\n`), name)
  })
})
