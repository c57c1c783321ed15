import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { level } from '../drivers/level/index.ts'
import { memory } from '../drivers/memory/index.ts'
import { type AllotOptions, createAllot } from '../lib/index.ts'
import { allot as runAllot, served } from './bin/in-process.ts'
import { temporaryDirectory } from './support/folder.ts'
import { createSender } from './support/test-server.ts'

const closeAfter = async (
  options: AllotOptions,
  body: (allot: Awaited<ReturnType<typeof createAllot>>) => unknown,
) => {
  const allot = await createAllot(options)
  try {
    await body(allot)
  } finally {
    await allot.close()
  }
}

/** Creates a repository with a commit, whose folder is in the data folder. */
const fill = (options: AllotOptions): Promise<void> =>
  closeAfter(options, async ({ accounts, repositories }) => {
    const alice = await accounts.createUser({ name: 'alice' })
    await repositories.create(alice, alice, { name: 'app', autoInit: true })
  })

describe('createAllot with a data folder', () => {
  it('and the command line share one store, and the token of the first administrator', async () => {
    const data = join(temporaryDirectory(), 'data')
    let token: string | undefined
    await closeAfter({ data }, async (allot) => {
      token = (await allot.setUp({ admin: 'root' })).token
    })
    const added = await runAllot(['user', 'add', 'alice', '--token', '--data', data])
    assert.deepEqual([added.code, added.out.trim().length], [0, 40], added.err)
    const server = await served(['--data', data])
    const send = createSender(server.api)
    assert.equal((await send('GET', '/user', { token: token! })).body.login, 'root')
    await send('POST', '/user/repos', { token: token!, body: { name: 'app', auto_init: true } })
    await server.stop()
    assert.doesNotMatch(server.printed(), /[0-9a-f]{40}/)
    assert.deepEqual(readdirSync(data), ['repositories', 'store'])
    await closeAfter({ data }, async ({ accounts, repositories, fetch }) => {
      assert.equal((await accounts.byName('alice'))?.name, 'alice')
      assert.ok((await repositories.byId(1))!.size > 0)
      const headers = { authorization: `token ${added.out.trim()}` }
      assert.equal((await fetch(new Request('http://localhost/api/v1/user', { headers }))).status, 200)
    })
  })

  it('uses the given driver and folders instead of its own', async () => {
    const folder = temporaryDirectory()
    const [data, directory] = [join(folder, 'data'), join(folder, 'elsewhere')]
    await fill({ data, driver: memory(), repositories: { directory } })
    assert.deepEqual([existsSync(data), readdirSync(directory).length], [false, 1])
    await fill({ data, driver: memory() })
    assert.deepEqual(readdirSync(data), ['repositories'])
  })

  it('is fine with hidden files and a configuration file, and with its own folders beside other files', async () => {
    const data = temporaryDirectory()
    writeFileSync(join(data, '.gitkeep'), '')
    writeFileSync(join(data, 'allot.toml'), '')
    mkdirSync(join(data, 'lost+found'))
    await fill({ data })
    writeFileSync(join(data, 'notes.txt'), '')
    await closeAfter({ data }, async ({ accounts }) => assert.equal(await accounts.count('user'), 1))
  })

  it('recognizes its folders without records', async () => {
    const data = temporaryDirectory()
    await fill({ data, driver: memory() })
    writeFileSync(join(data, 'notes.txt'), '')
    await closeAfter({ data, driver: memory() }, () => undefined)
  })
})

/** Folders that hold something else, what is said about them, and how they are made. */
const FOREIGN: readonly [what: string, message: RegExp, make: (data: string) => unknown][] = [
  [
    'a LevelDB',
    /^the data folder \S+ holds the files of a LevelDB directly \(.*CURRENT, .*\), and its records belong in \S+\/data\/store: move these files there, or name another folder$/,
    (data) =>
      fill({
        driver: level(data),
        repositories: { directory: `${data}-git` },
        files: { directory: `${data}-files` },
      }),
  ],
  [
    'a LevelDB and a second one',
    /^the data folder \S+ holds the files of a LevelDB directly \(.*\) and a folder named store: move those that you do not need to another place$/,
    async (data) => {
      await fill({
        driver: level(data),
        repositories: { directory: `${data}-git` },
        files: { directory: `${data}-files` },
      })
      await fill({
        driver: level(join(data, 'store')),
        repositories: { directory: `${data}-git2` },
        files: { directory: `${data}-files` },
      })
    },
  ],
  [
    'the files of an application',
    /^the data folder \S+ holds other files \(package.json, src\) and no data of Allot: name an empty folder, or one that does not exist yet$/,
    (data) => {
      mkdirSync(join(data, 'src'), { recursive: true })
      writeFileSync(join(data, 'package.json'), '{}')
    },
  ],
  [
    'a folder named store of an application',
    /^the data folder \S+ holds a folder named store without records of Allot \(actions.js\): name another folder$/,
    (data) => {
      mkdirSync(join(data, 'store'), { recursive: true })
      writeFileSync(join(data, 'store/actions.js'), '')
    },
  ],
  [
    'no folder but a file',
    /^\S+ is a file, or lies below one: name a folder for the data$/,
    (data) => writeFileSync(data, 'a file'),
  ],
]

describe('A data folder that holds something else', () => {
  for (const [what, message, make] of FOREIGN)
    it(`is refused with one sentence and stays as it is: ${what}`, async () => {
      const data = join(temporaryDirectory(), 'data')
      await make(data)
      const before = filesBelow(data)
      await assert.rejects(createAllot({ data }), { code: 'invalid', message })
      await assert.rejects(createAllot({ data, driver: memory() }), { code: 'invalid', message })
      for (const words of [
        ['serve', '--port', '0'],
        ['user', 'add', 'ada'],
        ['verify'],
        ['quota', 'show', 'ada'],
        ['export'],
      ]) {
        const { code, out, err } = await runAllot([...words, '--data', data])
        assert.deepEqual([code, out], [1, ''], err)
        assert.match(err.replace(/^allot: |\n$/g, ''), message)
      }
      assert.deepEqual(filesBelow(data), before)
    })

  it('that is the `store` folder itself is refused, and the error names the folder above it', async () => {
    const data = join(temporaryDirectory(), 'data')
    await fill({ data })
    await assert.rejects(createAllot({ data: join(data, 'store') }), {
      message: /holds the files of a LevelDB directly \(.*\): name the folder that contains it, \S+data$/,
    })
  })
})

const filesBelow = (folder: string): string[] => {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()
  } catch {
    return []
  }
}

describe('The folder of a LevelDB', () => {
  it('contains neither the folder of the repositories nor that of the files', async () => {
    const folder = temporaryDirectory()
    const store = join(folder, 'db')
    const outside = { directory: join(folder, 'outside') }
    const bad: [Omit<AllotOptions, 'driver'>, string][] = [
      [{ data: store }, 'repositories'],
      [{ data: store, repositories: false }, 'files'],
      [{ repositories: { directory: store }, files: outside }, 'repositories'],
      [{ repositories: outside, files: { directory: join(store, 'a/b') } }, 'files'],
    ]
    for (const [options, name] of bad)
      await assert.rejects(createAllot({ ...options, driver: level(store) } as AllotOptions), {
        code: 'invalid',
        message: new RegExp(
          `^${name}\\.directory: \\S+ lies inside ${store}, which belongs to the driver: give the option data instead of a driver, or set ${name}\\.directory to a folder outside$`,
        ),
      })
    assert.deepEqual(readdirSync(folder), [])
    await closeAfter(
      { driver: level(store), repositories: { directory: `${store}-git` }, files: outside },
      () => undefined,
    )
  })

  it('is not the default data folder, in which the others lie', async () => {
    const before = process.cwd()
    process.chdir(temporaryDirectory())
    try {
      await assert.rejects(createAllot({ driver: level('./data') }), {
        message: /^repositories\.directory: data\/repositories lies inside \.\/data, /,
      })
      assert.deepEqual(readdirSync('.'), [])
    } finally {
      process.chdir(before)
    }
  })
})
