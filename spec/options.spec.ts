import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import * as v from 'valibot'
import { readConfig } from '../bin/config/config.ts'
import { level } from '../drivers/level/index.ts'
import { memory } from '../drivers/memory/index.ts'
import { streamRoutesFor } from '../lib/api/index.ts'
import { REFERENCE_PATH } from '../lib/http/reference-page.ts'
import { createAllot, createLimitedServer, importAllot } from '../lib/index.ts'
import { HostOptions, Options } from '../lib/options/index.ts'
import { loginRoutes, pageRoutes } from '../lib/web/page-routes.ts'
import { allot } from './bin/in-process.ts'
import { temporaryDirectory } from './support/folder.ts'

const driver = memory()
class Store {}
const SECRET = 'postgres://allot:secret@db/allot'

const UNITS = 'is not a unit: use B, KiB, MiB, GiB, TiB, PiB or EiB, such as 10 GiB'

/** Paths of routes besides those of the API, up to their first parameter. */
const OTHER_PATHS = new Set(
  [
    ...streamRoutesFor({ git: true, contents: true, lfs: true, packages: true, issues: true }),
    ...pageRoutes,
    ...loginRoutes,
    { path: REFERENCE_PATH },
  ]
    .map(({ path }) => path.replace(/\/?(?:\{.*)?$/, ''))
    .filter((path) => path !== ''),
)

const APART =
  'expected a path neither above nor below another path of Allot (/-, /api/packages, /api/swagger, /attachments, /avatars), such as /api/v1'

/** The message of an unknown option without a section. */
const unknown = (name: string, { entries }: { entries: object }): string =>
  `${name}: there is no such option; expected one of: ${Object.keys(entries).join(', ')}`

/** Options that are wrong, and the whole message. */
const WRONG: readonly [options: unknown, message: string][] = [
  ...[
    'localhost:3000',
    'localhost',
    'https://git.example.org/',
    'https://git.example.org/api/v1',
    'https://git.example.org:99999',
  ].map((baseUrl): [unknown, string] => [
    { driver, baseUrl },
    'baseUrl: expected an address that begins with https:// or http://, such as https://git.example.org, without a slash or /api/v1 at the end',
  ]),
  ...['https://app.example.org/', 'https://App.example.org', 'app.example.org', 'https://*.example.org'].map(
    (origin): [unknown, string] => [
      { driver, cors: { origins: ['https://app.example.org', origin] } },
      'cors.origins[1]: expected * or an origin as browsers send it, such as https://app.example.org, without a slash at the end',
    ],
  ),
  ...['http://ci.internal', 'ci.internal:8080', '10.0.0.0/33', ''].map((host): [unknown, string] => [
    { driver, webhooks: { allowedHosts: [host] } },
    'webhooks.allowedHosts[0]: expected an address, a network such as 10.0.0.0/8, or a host name such as ci.internal, without a scheme and a port',
  ]),
  [
    { driver, ssh: { port: 2222, host: 'git.example.org:2222' } },
    'ssh.host: expected a host name or an address, without a port',
  ],
  [{ driver, maxTextPerDay: -1 }, 'maxTextPerDay: must not be below 0'],
  [
    { driver, attachments: { maxGuestBytesPerDay: -1 } },
    'attachments.maxGuestBytesPerDay: must not be below 0',
  ],
  [
    { driver, htmlUrls: { pages: '/..' } },
    'htmlUrls.pages: expected a path such as /storage, without a slash at the end',
  ],
  ...['api/v1', '/', '/api/', '/..', '/api/../v1'].map((basePath): [unknown, string] => [
    { driver, basePath },
    'basePath: expected a path such as /api/v1',
  ]),
  ...['/api', '/-', '/-/api', '/api/packages', '/attachments/x'].map((basePath): [unknown, string] => [
    { driver, basePath },
    `basePath: ${APART}`,
  ]),
  [undefined, "expected an object with options, such as { data: './data' }, received undefined"],
  [SECRET, "expected an object with options, such as { data: './data' }, received a string"],
  [
    {},
    "the data needs a place: give a folder, such as { data: './data' }, or a driver, such as { driver: memory() }",
  ],
  [{ data: '' }, 'data: expected a folder'],
  [{ data: 7 }, 'data: expected a string, received the number 7'],
  [{ driver, repositories: { directory: '' } }, 'repositories.directory: expected a folder'],
  [{ driver, repositories: { git: '' } }, 'repositories.git: expected a command'],
  [{ driver, files: { directory: '' } }, 'files.directory: expected a folder'],
  [{ driver, ssh: { port: 2222, hostKey: '' } }, 'ssh.hostKey: expected a file'],
  ...(
    [
      [SECRET, 'a string'],
      [null, 'null'],
      [level, 'the function level: call it'],
      [() => memory(), 'a function: call it'],
      [Store, 'the class Store: create an object of it'],
      [Promise.resolve(memory()), 'a Promise: await it'],
      [{}, 'an object without the methods open, read, write, close'],
      [{ ...memory(), close: undefined }, 'an object without the method close'],
    ] as const
  ).map(([wrong, received]): [unknown, string] => [
    { driver: wrong },
    `driver: expected a driver, such as level('./data/store') (for a folder, the option data is enough), received ${received}`,
  ]),
  [{ driver, authenticate: 'root' }, 'authenticate: expected a function, received a string'],
  [{ driver, tokens: false }, "tokens: false needs the option authenticate, the host's own login"],
  [
    { driver, pages: { loginUrl: '/login?next={to}' } },
    "pages.loginUrl needs the option authenticate, the host's own login",
  ],
  [
    { driver, authenticate: () => null, pages: { loginUrl: 'login?next={to}' } },
    'pages.loginUrl: expected a path such as /login?next={to}, or a URL that begins with https:// or http:// and a host',
  ],
  ...[
    ['loginUrl', '/login'],
    ['loginUrl', '/login?next={next}'],
    ['loginUrl', '/login?next={to}&from={site}'],
    ['loginUrl', '/login?next={To}'],
    ['loginUrl', 'https://sso.example.org/in?next=%7Bto%7D'],
    ['logoutUrl', '/logout'],
    ['logoutUrl', '/logout?next={to'],
  ].map(([option, value]): [unknown, string] => [
    { driver, authenticate: () => null, pages: { [option!]: value } },
    `pages.${option}: expected {to}, and no other placeholder, in place of the page to come back to, such as /${option!.slice(0, -3)}?next={to}`,
  ]),
  [{ driver, authenticate: { username: 'root' } }, 'authenticate: expected a function, received an object'],
  [{ driver, htmlUrl: true }, 'htmlUrl: expected a function, received a boolean'],
  [{ driver, onBeforeStore: 'no' }, 'onBeforeStore: expected a function, received a string'],
  ...(
    [
      [false, 'a boolean'],
      ['debug', 'a string'],
      [{ error: () => undefined }, 'an object without the method info'],
    ] as const
  ).map(([log, received]): [unknown, string] => [
    { driver, log },
    `log: expected a logger with the functions error(fields, message) and info(fields, message), such as pino(), received ${received}`,
  ]),
  [{ drivr: driver }, unknown('drivr', HostOptions)],
  [{ driver, baseURL: 'x' }, unknown('baseURL', HostOptions)],
  [
    { driver, quota: { defaultGroup: 'free' } },
    'quota.defaultGroup: there is no such option; expected one of: quota.defaultGroups, quota.defaultTotal, quota.warnAt',
  ],
  [
    { driver, repositories: { folder: 'x', directory: 5 } },
    'repositories.directory: expected a string, received the number 5\nrepositories.folder: there is no such option; expected one of: repositories.directory, repositories.git',
  ],
  [
    { driver, repositories: true },
    'repositories: expected an object with options, or false, received the boolean true',
  ],
  [
    { driver, webhooks: 'on' },
    'webhooks: expected an object with options, true or false, received the string "on"',
  ],
  [
    { driver, webhooks: { timeout: 'long', retries: 3 } },
    'webhooks.timeout: expected a number, received the string "long"\nwebhooks.retries: there is no such option; expected one of: webhooks.allowedHosts, webhooks.timeout, webhooks.maxConcurrent, webhooks.maxConcurrentPerReceiver, webhooks.retryFor, webhooks.keepFor',
  ],
  ...(
    [
      [true, 'the boolean true'],
      [2.5, 'the number 2.5'],
      ['2 GB', `the string "2 GB"; "GB" ${UNITS}`],
      ['2gb', `the string "2gb"; "gb" ${UNITS}`],
      ['2,5 GiB', 'the string "2,5 GiB"'],
    ] as const
  ).map(([defaultTotal, received]): [unknown, string] => [
    { driver, quota: { defaultTotal } },
    `quota.defaultTotal: expected bytes, as a whole number or as in "2 GiB", received ${received}`,
  ]),
  [
    { driver, dialect: 'gogs' },
    'dialect: expected one of "specification", "forgejo", received the string "gogs"',
  ],
]

describe('createAllot', () => {
  for (const [options, message] of WRONG)
    it(`refuses wrong options with: ${message}`, async () => {
      await assert.rejects(createAllot(options as never), { name: 'AllotError', code: 'invalid', message })
    })

  it('takes as basePath any path beside its other paths, and none of these or below', async () => {
    assert.ok(OTHER_PATHS.size > 30)
    for (const path of OTHER_PATHS)
      for (const basePath of [path, `${path}/x`])
        await assert.rejects(createAllot({ driver, basePath }), { message: `basePath: ${APART}` })
    for (const basePath of [
      '/api/v1',
      '/api/v2',
      '/api/package',
      '/avatar',
      '/-x',
      '/x/-/y',
      '/.well-known/x',
    ])
      await (await createAllot({ driver: memory(), repositories: false, basePath })).close()
  })

  it('takes what browsers send as origins, and every form of a receiver', () => {
    const origins = ['*', 'https://app.example.org', 'http://[::1]:8080', 'capacitor://localhost']
    assert.deepEqual(v.parse(Options, { cors: { origins } }).cors.origins, origins)
    const allowedHosts = ['10.0.0.0/8', 'fd00::/8', '::1', '[::1]', 'CI.internal', '*.{a,b}.corp.example']
    assert.deepEqual(v.parse(Options, { webhooks: { allowedHosts } }).webhooks, {
      ...v.parse(Options.entries.webhooks, {}),
      allowedHosts,
    })
    for (const host of ['git.example.org', '::1'])
      assert.equal(v.parse(Options, { ssh: { host } }).ssh.host, host)
  })

  it('has the same messages in importAllot and createLimitedServer', async () => {
    for (const [trustedProxies, message] of [
      [-1, 'trustedProxies: must not be below 0'],
      [1.5, 'trustedProxies: expected a whole number between -(2^53-1) and 2^53-1'],
      [101, 'trustedProxies: must not be above 100'],
    ] as const) {
      await assert.rejects(createAllot({ driver, trustedProxies }), { message })
      assert.throws(() => createLimitedServer(() => undefined, { trustedProxies }), { message })
    }
    const nothing = async function* () {}
    await assert.rejects(importAllot({} as never, nothing()), { message: /^the data needs a place: / })
    await assert.rejects(importAllot({ driver: level } as never, nothing()), {
      message: /^driver: expected a driver/,
    })
    assert.throws(() => createLimitedServer(() => undefined, { maxHeader: 5 } as never), {
      message: /^maxHeader: there is no such option; expected one of: maxHeaderSize, maxHeaders, /,
    })
  })
})

describe('A configuration file', () => {
  it('turns webhooks on with their section, also an empty one, or with true', () => {
    const file = join(temporaryDirectory(), 'allot.toml')
    const webhooksOf = (text: string) => {
      writeFileSync(file, text)
      return readConfig(file).webhooks
    }
    const WITH_DEFAULTS = v.parse(Options.entries.webhooks, {})
    assert.deepEqual(['', 'webhooks = false', 'webhooks = true', '[webhooks]'].map(webhooksOf), [
      false,
      false,
      WITH_DEFAULTS,
      WITH_DEFAULTS,
    ])
  })

  it('is refused with the options of the section, in its own spelling', async () => {
    const file = join(temporaryDirectory(), 'allot.toml')
    writeFileSync(file, '[repository]\n[quota]\ndefault_group = 1\n[api]\nmax_push_size = 1\npageSize = 3\n')
    const { code, err } = await allot(['serve', '--config', file])
    assert.equal(code, 1)
    const lines = err.trim().split('\n').slice(1).sort()
    const begun = [
      'api.max_push_size: there is no such option; expected one of: api.base_path, ',
      'api.pageSize: there is no such option; expected one of: api.base_path, ',
      'quota.default_group: there is no such option; expected one of: quota.default_groups, ',
      'repository: there is no such option; expected one of: server, storage, api, ',
    ]
    assert.deepEqual(
      lines.map((line, index) => line.trim().slice(0, begun[index]!.length)),
      begun,
    )
  })
})
