import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { before, describe, it } from 'node:test'
import { CUT, parseTag } from '../../../lib/git/objects/parse.ts'
import { aCheckout, git, urlFor } from '../../git/client.ts'
import { startGit } from '../../git/served.ts'
import { run } from '../../support/child.ts'
import { assertError, assertList, assertNotFound } from '../../support/expectations.ts'
import { temporaryDirectory } from '../../support/folder.ts'
import { isLong } from '../../support/long.ts'
import { madeBefore, type Person, peopleBefore } from '../../support/test-server.ts'
import { wrappedGit } from '../../support/wrapped-git.ts'
import { BIG, POINTER, pushContents, SUBMODULE_COMMIT } from './repository.ts'

let at: string
let ids: Record<string, string>
let checkout: string
const allot = madeBefore(() => startGit())
const [ann, ben] = peopleBefore(allot, 'ann', 'ben')
before(async () => {
  const pushed = await pushContents(allot, ann, 'app')
  ;({ ids, checkout } = pushed)
  at = `/repos/${pushed.path}`
})

const get = (path: string, who: Person | undefined = ann) => allot.as(who, 'GET', at + path)
const body = async (path: string) => {
  const answer = await get(path)
  assert.equal(answer.status, 200, `${path}: ${answer.text}`)
  return answer.body
}
const idOf = (expression: string) => git(checkout, 'rev-parse', expression)
/** A response whose body is not JSON, with its bytes. */
const download = async (path: string, headers: Record<string, string> = {}) => {
  const answer = await fetch(allot.api + at + path, { headers })
  return { status: answer.status, headers: answer.headers, bytes: Buffer.from(await answer.arrayBuffer()) }
}

describe('Branches, tags and references', () => {
  it('are listed and found by their names, which may have slashes', async () => {
    assertList(await get('/branches'), 'name', ['feature/x', 'main'])
    assertList(await get('/branches?limit=1&page=2'), 'name', ['main'], 2)
    for (const name of ['feature/x', 'feature%2Fx']) {
      const branch = await body(`/branches/${name}`)
      assert.equal(branch.commit.id, ids.second)
      assert.equal(branch.user_can_push, true)
    }
    assert.equal((await get('/branches/main', ben)).body.user_can_push, false)
    const { body: tags } = await get('/tags')
    assert.deepEqual(tags.map(({ name }: { name: string }) => name).sort(), ['plain', 'v1.0'])
    const [tag, plain] = [await body('/tags/v1.0'), await body('/tags/plain')]
    assert.deepEqual([tag.message, tag.commit.sha, plain.id], ['Version 1', ids.second, ids.third])
    assert.equal(tag.zipball_url, `${allot.base}/ann/app/archive/v1.0.zip`)
    const annotated = await body(`/git/tags/${tag.id}`)
    assert.equal(annotated.message, 'Version 1\n')
    assert.deepEqual([annotated.object.type, annotated.object.sha], ['commit', ids.second])
    assert.equal(annotated.tagger.email, 'ada@example.test')
  })

  it('have the signature of an annotated tag apart from its message, and what it signs', async () => {
    const [path, folder] = [await allot.repository(ann, 'signed'), await aCheckout({ a: 'one\n' })]
    for (const kind of ['PGP SIGNATURE', 'SSH SIGNATURE']) {
      const name = kind.slice(0, 3)
      const payload = `object ${await git(folder, 'rev-parse', 'HEAD')}\ntype commit\ntag ${name}\ntagger A <a@example.test> 0 +0000\n\nSigned\n`
      const signature = `-----BEGIN ${kind}-----\n\nabcd\n-----END ${kind}-----\n`
      writeFileSync(`${folder}/tag`, payload + signature)
      const id = await git(folder, 'hash-object', '-t', 'tag', '-w', 'tag')
      await git(folder, 'push', '--quiet', urlFor(allot, path, ann), `${id}:refs/tags/${name}`)
      const { body: tag } = await allot.as(ann, 'GET', `/repos/${path}/git/tags/${id}`)
      assert.equal(tag.message, 'Signed\n')
      assert.deepEqual(tag.verification, {
        ...{ verified: false, reason: 'this server does not verify signatures', signer: null },
        ...{ signature, payload },
      })
      const { body: listed } = await allot.as(ann, 'GET', `/repos/${path}/tags/${name}`)
      assert.equal(listed.message, 'Signed')
    }
  })

  it('have a signature as git finds it: the last line that begins with one, also with a carriage return', () => {
    const head = 'object 0\ntype commit\ntag v\ntagger A <a@example.test> 0 +0000\n\n'
    const begin = '-----BEGIN PGP SIGNATURE-----'
    const parsed = (text: string, isCut = false) => {
      const { name, message, signature } = parseTag({ id: '', content: Buffer.from(text), isCut })
      assert.equal(name, 'v')
      return { message, signature }
    }
    for (const [message, text] of [
      ['One\r\n', `${begin}\r\n\r\nabcd\r\n-----END PGP SIGNATURE-----\r\n`],
      ['', `${begin}\n`],
      [`Quoted:\n${begin}\nx\n`, `${begin}\nx\n`],
      [`> ${begin}\n`, `${begin} of another\n`],
    ] as const)
      for (const isCut of [false, true])
        assert.deepEqual(parsed(head + message + text, isCut), {
          message,
          signature: { text: isCut ? text + CUT : text, payload: head + message },
        })
    assert.deepEqual(parsed(`${head}One\n ${begin}\n\r${begin}\n`), {
      message: `One\n ${begin}\n\r${begin}\n`,
      signature: undefined,
    })
    assert.deepEqual(parsed(`${head}One\n${begin.slice(0, -1)}`, true), {
      message: `One\n${begin.slice(0, -1)}${CUT}`,
      signature: undefined,
    })
  })

  it('are listed together, by the beginning of their names, or one alone', async () => {
    const refs = async (path: string) => (await body(path)).map(({ ref }: { ref: string }) => ref)
    const heads = ['refs/heads/feature/x', 'refs/heads/main']
    assert.deepEqual(await refs('/git/refs'), [...heads, 'refs/tags/plain', 'refs/tags/v1.0'])
    assert.deepEqual(await refs('/git/refs/heads'), heads)
    assert.deepEqual(await refs('/git/refs/heads/main'), ['refs/heads/main'])
    assert.deepEqual(await refs('/git/refs/tags/v1'), ['refs/tags/v1.0'])
  })

  it('have no second page of the one that has a name, though the names of others begin with it', async () => {
    const branch = { new_branch_name: 'mainline', old_ref_name: ids.third }
    assert.equal((await allot.as(ann, 'POST', `${at}/branches`, branch)).status, 201)
    assertList(await get('/git/refs/heads/mai?limit=1&page=2'), 'ref', ['refs/heads/mainline'], 2)
    assertList(await get('/git/refs/heads/main?limit=1'), 'ref', ['refs/heads/main'], 1)
    assertList(await get('/git/refs/heads/main?limit=1&page=2'), 'ref', [], 1)
    assert.equal((await allot.as(ann, 'DELETE', `${at}/branches/mainline`)).status, 204)
  })
})

describe('Trees and blobs', () => {
  it('are read by name or id, with everything below them, in pages', async () => {
    const tree = await body('/git/trees/main')
    assert.equal(tree.sha, await idOf('main^{tree}'))
    assert.deepEqual([tree.total_count, tree.truncated], [8, false])
    const byPath = Object.fromEntries(tree.tree.map((entry: { path: string }) => [entry.path, entry]))
    assert.deepEqual([byPath.src.type, byPath.lib.type, byPath.lib.sha], ['tree', 'commit', SUBMODULE_COMMIT])
    assert.deepEqual([byPath['big.bin'].size, byPath.link.mode], [BIG.length, '120000'])
    const all = await body('/git/trees/main?recursive=true&per_page=5&page=2')
    assert.deepEqual([all.total_count, all.truncated, all.page, all.tree.length], [12, true, 2, 5])
    const last = await body('/git/trees/main?recursive=1&per_page=5&page=3')
    assert.deepEqual(
      last.tree.map(({ path }: { path: string }) => path),
      ['src/deep', 'src/deep/b.py'],
    )
    const { content, size } = await body(`/git/blobs/${byPath['A+#&ä b'].sha}`)
    assert.deepEqual([Buffer.from(content, 'base64').toString(), size], ['odd\n', 4])
  })
})

describe('The contents of a commit', () => {
  it('are a file with its content, a link with its target, a submodule with its address', async () => {
    const file = await body(`/contents/README.md?ref=${ids.first}`)
    assert.equal(Buffer.from(file.content, 'base64').toString(), '# app\n')
    assert.deepEqual([file.type, file.encoding, file.size, file.path], ['file', 'base64', 6, 'README.md'])
    assert.equal(file.last_commit_sha, ids.first)
    assert.equal((await body('/contents/src/a.ts')).last_commit_sha, ids.second)
    const link = await body('/contents/link')
    assert.deepEqual([link.type, link.target, link.content], ['symlink', 'README.md', null])
    const lib = await body('/contents/lib')
    assert.deepEqual(
      [lib.type, lib.sha, lib.submodule_git_url, lib.git_url],
      ['submodule', SUBMODULE_COMMIT, 'https://code.example.org/alice/lib.git', null],
    )
    const pointer = await body('/contents/asset.bin')
    assert.deepEqual([pointer.lfs_oid, pointer.lfs_size], ['a'.repeat(64), 5])
    const odd = await body(`/contents/${encodeURIComponent('A+#&ä b')}`)
    for (const url of [odd.url, odd.download_url, odd.git_url])
      assert.equal((await fetch(url)).status, 200, url)
  })

  it('are the entries of a folder, whose slashes at the ends do not matter', async () => {
    const names = (list: { name: string }[]) => list.map(({ name }) => name)
    assert.deepEqual(names(await body('/contents/src')), ['a.ts', 'c.h', 'deep'])
    assert.deepEqual(names(await body('/contents//src/')), ['a.ts', 'c.h', 'deep'])
    assert.equal((await body('/contents')).length, 8)
    assert.equal((await body('/contents/?ref=main')).length, 8)
    const [first] = await body('/contents/src')
    assert.deepEqual([first.path, first.size, first.content], ['src/a.ts', 10, null])
  })

  it('follow the branch when it moves, and stay what they were for an id', async () => {
    const path = await allot.repository(ann, 'moving', { auto_init: true })
    const folder = `${checkout}-moving`
    await git(checkout, 'clone', '--quiet', urlFor(allot, path, ann), folder)
    const before = (await allot.as(ann, 'GET', `/repos/${path}/contents`)).body.length
    const { commit } = (await allot.as(ann, 'GET', `/repos/${path}/branches/main`)).body
    for (let more = 1; more <= 3; more++) {
      await git(folder, 'config', 'user.name', 'Ada')
      await git(folder, 'config', 'user.email', 'ada@example.test')
      await git(folder, 'mv', 'README.md', `R${more}`).catch(() =>
        git(folder, 'mv', `R${more - 1}`, `R${more}`),
      )
      await git(folder, 'commit', '--quiet', '-m', 'move')
      await git(folder, 'push', '--quiet')
      const [entry] = (await allot.as(ann, 'GET', `/repos/${path}/contents`)).body
      assert.equal(entry.name, `R${more}`)
    }
    const old = (await allot.as(ann, 'GET', `/repos/${path}/contents?ref=${commit.id}`)).body
    assert.deepEqual([old.length, old[0].name], [before, 'README.md'])
  })

  it('are downloaded as they are, whole or in part', async () => {
    const whole = await download('/raw/big.bin')
    assert.ok(whole.bytes.equals(BIG))
    assert.equal(whole.headers.get('content-type'), 'application/octet-stream')
    const part = await download('/raw/big.bin', { range: 'bytes=1000000-1000099' })
    assert.equal(part.status, 206)
    assert.ok(part.bytes.equals(BIG.subarray(1_000_000, 1_000_100)))
    for (const kind of ['raw', 'media']) {
      const small = await get(`/${kind}/README.md?ref=${ids.first}`)
      assert.equal(small.text, '# app\n')
      const range = { range: 'bytes=2-4' }
      assert.equal((await allot.request('GET', `${at}/${kind}/README.md`, { headers: range })).text, 'app')
      const beyond = { range: 'bytes=5000-' }
      const refused = await allot.request('GET', `${at}/${kind}/README.md`, { headers: beyond })
      assert.equal(refused.status, 416)
    }
    const headers = { 'if-none-match': whole.headers.get('etag')! }
    assert.equal((await download('/raw/big.bin', headers)).status, 304)
    const head = await fetch(`${allot.api}${at}/raw/big.bin`, { method: 'HEAD' })
    assert.deepEqual([head.status, head.headers.get('content-length')], [200, String(BIG.length)])
    const ranged = await fetch(`${allot.api}${at}/raw/big.bin`, {
      method: 'HEAD',
      headers: { range: 'bytes=0-9' },
    })
    assert.equal(ranged.status, 200, 'Range is for GET only')
  })

  it('/media returns the LFS object when the repository has it', async () => {
    const content = 'large\n'
    const oid = createHash('sha256').update(content).digest('hex')
    const path = await allot.repository(ann, 'large')
    const folder = `${checkout}-large`
    await git(checkout, 'clone', '--quiet', urlFor(allot, path, ann), folder)
    writeFileSync(`${folder}/asset`, POINTER(oid, content.length))
    await git(folder, 'add', 'asset')
    await git(folder, 'commit', '--quiet', '-m', 'asset')
    await git(folder, 'push', '--quiet', 'origin', 'HEAD:main')
    const upload = await fetch(`${allot.base}/${path}.git/info/lfs/objects/${oid}/${content.length}`, {
      ...{ method: 'PUT', body: content, headers: { authorization: `token ${ann.token}` } },
    })
    assert.equal(upload.status, 200)
    assert.equal((await allot.as(ann, 'GET', `/repos/${path}/media/asset`)).text, content)
    assert.match((await allot.as(ann, 'GET', `/repos/${path}/raw/asset`)).text, /^version https/)
  })
})

describe('The git that reads objects', () => {
  it('stays open for the next read, and is started again when it was killed', async () => {
    const folder = await allot.folderOf('ann/app')
    const pids = async () =>
      (await run('ps', ['-eo', 'pid=,args='])).stdout
        .split('\n')
        .filter((line) => line.includes(`--git-dir=${folder} cat-file --batch`))
        .map((line) => Number.parseInt(line, 10))
    await body('/git/trees/main')
    const running = await pids()
    assert.ok(running.length > 0)
    await body('/git/trees/feature%2Fx')
    assert.deepEqual(await pids(), running)
    for (const pid of running) process.kill(pid, 'SIGKILL')
    await body(`/git/trees/${ids.first}`)
    assert.ok((await pids()).every((pid) => !running.includes(pid)))
  })
})

describe('A git before 2.36, which has no --batch-command', () => {
  it('is refused with a sentence that says which one is needed', async () => {
    const program = wrappedGit(
      'case "$*" in *--batch-command*) echo "error: unknown option \\`batch-command\'" >&2; exit 129;; esac',
    )
    const old = await startGit({ repositories: { directory: temporaryDirectory(), git: program } })
    const eve = await old.person('eve')
    await old.repository(eve, 'app', { auto_init: true })
    const { status, body } = await old.as(eve, 'GET', '/repos/eve/app/contents')
    assert.equal(status, 503)
    assert.match(body.message, /too old: install git 2\.37 or later/)
    await old.stop()
  })
})

describe('An entry of a folder', () => {
  /** A content whose object id ends with a zero byte, which also follows each name. */
  const contentWithZero = (): string => {
    for (let number = 0; ; number++) {
      const content = `content ${number}\n`
      const id = createHash('sha1').update(`blob ${content.length}\0${content}`).digest()
      if (id.at(-1) === 0) return content
    }
  }

  it('is found by its whole name, whatever other names contain', async () => {
    const folder = await allot.folderOf(at.slice('/repos/'.length))
    const write = async (args: string[], input = '') =>
      (await run('git', ['--git-dir', folder, ...args], { input })).stdout.trim()
    const blob = (content: string) => write(['hash-object', '-w', '--stdin'], content)
    const zero = await blob(contentWithZero())
    const names = [
      'a',
      '100644 b',
      '0123456789abc100644 y',
      '0123456789100755 y',
      'x 100644 z',
      'u v',
      '40000 w',
      'w',
    ]
    const tree = await write(['mktree'], names.map((name) => `100644 blob ${zero}\t${name}\n`).join(''))
    const root = await write(['mktree'], `040000 tree ${tree}\todd\n`)
    const identity = ['-c', 'user.name=ann', '-c', 'user.email=ann@example.org']
    const commit = await write([...identity, 'commit-tree', '-m', 'odd', root])
    const ask = (name: string) => get(`/contents/odd/${encodeURIComponent(name)}?ref=${commit}`)
    for (const name of names) {
      const found = await ask(name)
      assert.deepEqual([found.body.name, found.body.sha, found.body.type], [name, zero, 'file'], name)
    }
    for (const name of ['b', 'y', 'z', 'v', '644 b', '100644 y', '100644 z', 'a\0', `a\0${'x'.repeat(20)}`])
      assert.equal((await ask(name)).status, 404, JSON.stringify(name))
  })
})

describe('A folder of more than 10,000 entries', () => {
  it('is refused with 422, and its files are read one by one', async () => {
    const folder = await allot.folderOf(at.slice('/repos/'.length))
    const write = async (args: string[], input = '') =>
      (await run('git', ['--git-dir', folder, ...args], { input })).stdout.trim()
    const blob = await write(['hash-object', '-w', '--stdin'], 'one\n')
    const entries = Array.from({ length: 10_001 }, (_, index) => `100644 blob ${blob}\tf${index}\n`)
    const below = await write(['mktree'], `100644 blob ${blob}\tg\n`)
    const others = [
      `120000 blob ${blob}\t*\n`,
      `100755 blob ${blob}\t:(glob)f?\n`,
      `040000 tree ${below}\tä b\n`,
    ]
    const many = await write(['mktree'], [...entries, ...others].join(''))
    const root = await write(['mktree'], `040000 tree ${many}\tmany\n`)
    const identity = ['-c', 'user.name=ann', '-c', 'user.email=ann@example.org']
    const commit = await write([...identity, 'commit-tree', '-m', 'many', root])
    await write(['update-ref', 'refs/heads/many', commit])
    assertError(await get('/contents/many?ref=many'), 422, /10,?000/)
    const { status, body } = await get('/contents/many/f7?ref=many')
    assert.deepEqual([status, body.last_commit_sha], [200, commit])
    for (const name of ['f', 'f*', 'ä', ':(top)f7'])
      assert.equal((await get(`/contents/many/${encodeURIComponent(name)}?ref=many`)).status, 404, name)
    for (const [name, type] of [
      ['*', 'symlink'],
      [':(glob)f?', 'file'],
      ['ä b/g', 'file'],
    ] as const) {
      const found = await get(`/contents/many/${name.split('/').map(encodeURIComponent).join('/')}?ref=many`)
      assert.deepEqual([found.body.path, found.body.type], [`many/${name}`, type])
    }
    assert.equal((await get(`/contents/many/${encodeURIComponent('ä b')}?ref=many`)).body[0].name, 'g')
    await write(['update-ref', '-d', 'refs/heads/many'])
  })
})

describe('An archive', () => {
  it('is streamed as zip and tar.gz, in the API and where tags name it', async () => {
    for (const [name, magic] of [
      ['main.zip', '504b0304'],
      ['feature/x.zip', '504b0304'],
      ['v1.0.tar.gz', '1f8b'],
      [`${ids.first}.tar.gz`, '1f8b'],
    ] as const) {
      assert.equal((await get(`/archive/${name}`)).status, 200)
      const archive = await download(`/archive/${name}`)
      assert.equal(archive.bytes.toString('hex', 0, magic.length / 2), magic)
      assert.match(archive.headers.get('content-disposition') ?? '', /attachment; filename="app-/)
      const same = await fetch(`${allot.base}/ann/app/archive/${name}`)
      assert.equal((await same.arrayBuffer()).byteLength, archive.bytes.length)
    }
    for (const name of ['nope.zip', 'main.rar', 'main', '.zip']) assertNotFound(await get(`/archive/${name}`))
    assert.equal((await fetch(`${allot.base}/ann/app/archive/nope.zip`)).status, 404)
  })

  it('has headers without a body for HEAD, whose end stops git, and nothing else', async (test) => {
    const stopped: unknown[] = []
    const onRejection = (reason: unknown) => void stopped.push(reason)
    process.on('unhandledRejection', onRejection)
    test.after(() => process.off('unhandledRejection', onRejection))
    for (const url of [`${allot.api}${at}/archive/main.zip`, `${allot.base}/ann/app/archive/main.zip`]) {
      const { status, headers } = await fetch(url, { method: 'HEAD' })
      assert.deepEqual([status, headers.get('content-type')], [200, 'application/zip'])
      // The next archive of this client is made when git has ended.
      await (await fetch(url)).arrayBuffer()
    }
    assert.deepEqual(stopped, [])
  })
})

describe('A comparison', () => {
  it('tells the commits and files that only the head has', async () => {
    const { total_commits, commits, files } = await body('/compare/feature/x...main')
    assert.deepEqual([total_commits, commits[0].sha], [1, ids.third])
    assert.deepEqual(files, [{ filename: 'README.md', status: 'modified' }])
    assert.equal((await body('/compare/main...feature/x')).total_commits, 0)
    assert.equal((await body(`/compare/${ids.first}..main`)).total_commits, 2)
    assert.equal((await body('/compare/feature/x')).total_commits, 0)
  })

  it('reads no file to tell which ones changed', async (test) => {
    const withoutLines = wrappedGit('case "$*" in *--numstat*) exit 1;; esac')
    const other = await startGit({ repositories: { directory: temporaryDirectory(), git: withoutLines } })
    test.after(other.stop)
    const path = await other.repository(other.root, 'app', { auto_init: true })
    const made = { content: 'QQ==', new_branch: 'next' }
    await other.done(other.root, 'POST', `/repos/${path}/contents/new`, made)
    const { body: compared } = await other.as(other.root, 'GET', `/repos/${path}/compare/main...next`)
    assert.deepEqual(compared.files, [{ filename: 'new', status: 'added' }])
  })

  it('succeeds where the share of a client is one git command, and each takes long', async (test) => {
    // Longer than a command waits for another of the same client.
    const slow = wrappedGit('case "$*" in *rev-list*) sleep 1.6;; esac')
    const repositories = { directory: temporaryDirectory(), git: slow }
    const narrow = await startGit({ repositories, contents: { maxConcurrent: 1 } })
    test.after(narrow.stop)
    const path = await narrow.repository(narrow.root, 'app', { auto_init: true })
    const { status, text } = await narrow.request('GET', `/repos/${path}/compare/main...main`)
    assert.equal(status, 200, text)
  })
})

describe('Submodules', () => {
  it('are read at once from a file of many empty lines, and of a line with many blanks and a carriage return', async () => {
    const path = await allot.repository(ann, 'blank')
    const folder = `${checkout}-blank`
    await git(checkout, 'clone', '--quiet', urlFor(allot, path, ann), folder)
    const module = '[submodule "lib"]\n\tpath = "lib"\n\turl = https://code.example.org/lib.git\n'
    const blanks = `[submodule "other"]\nurl =${'\t'.repeat(500_000)}x\ry\n${'\n'.repeat(500_000)}`
    writeFileSync(`${folder}/.gitmodules`, module + blanks)
    await git(folder, 'add', '-A')
    await git(folder, 'update-index', '--add', '--cacheinfo', `160000,${SUBMODULE_COMMIT},lib`)
    await git(folder, 'commit', '--quiet', '-m', 'Add a submodule')
    await git(folder, 'push', '--quiet', 'origin', 'HEAD:main')
    const { body } = await allot.as(ann, 'GET', `/repos/${path}/contents/lib`)
    assert.equal(body.submodule_git_url, 'https://code.example.org/lib.git')
  })
})

describe('What does not exist', () => {
  /** Addresses at which a branch, a tag, or the full id of an object is read. */
  const pathsAt = (text: string) => [
    `/commits?sha=${text}`,
    `/git/commits/${text}`,
    `/git/trees/${text}`,
    `/git/blobs/${text}`,
    `/git/tags/${text}`,
    `/git/refs/${text}`,
    `/branches/${text}`,
    `/tags/${text}`,
    `/contents?ref=${text}`,
    `/contents/README.md?ref=${text}`,
    `/raw/README.md?ref=${text}`,
    `/media/README.md?ref=${text}`,
    `/compare/main...${text}`,
  ]

  it('is answered 404, also when the name is not one that git takes', async () => {
    const wrong = [
      'nope',
      'main~1',
      ':/readme',
      'a..b',
      '-x',
      '%00',
      'main%0Amain',
      'HEAD@{1}',
      'x'.repeat(250),
    ]
    for (const name of wrong) {
      const text = name.includes('%') ? name : encodeURIComponent(name)
      for (const path of pathsAt(text)) assertNotFound(await get(path))
    }
    for (const path of ['nope', 'README.md/x', 'src%2F..%2FREADME.md', '.git/config', 'a%0Ab', 'lib/x'])
      for (const kind of ['contents', 'raw', 'media']) assertNotFound(await get(`/${kind}/${path}`))
    for (const kind of ['raw', 'media']) assertNotFound(await get(`/${kind}/src`))
  })

  it('is also an object of an abbreviated id, however it is written', async () => {
    const others = [await idOf('v1.0'), await idOf('main^{tree}'), await idOf('main:README.md')]
    const id = ids.second!.slice(0, 4)
    for (const text of [
      id,
      ids.second!.slice(0, 39),
      `v1.0-1-g${id}`,
      `heads%2Fx-g${id}`,
      `refs%2Ftags%2Fx-g${id.toUpperCase()}`,
      ...others.map((other) => other.slice(0, 7)),
    ]) {
      if (text !== id && !isLong) {
        for (const path of [`/git/commits/${text}`, `/contents?ref=${text}`]) assertNotFound(await get(path))
        continue
      }
      for (const path of pathsAt(text)) assertNotFound(await get(path))
      for (const path of [
        `/commits?sha=main&not=${text}`,
        `/git/commits/${text}.diff`,
        `/git/commits/${text}.patch`,
        `/commits/${text}/status`,
        `/commits/${text}/statuses`,
        `/statuses/${text}`,
        `/archive/${text}.zip`,
      ])
        assertNotFound(await get(path))
      assert.equal((await fetch(`${allot.base}/ann/app/archive/${text}.zip`)).status, 404)
      const from = { new_branch_name: 'from-short', old_ref_name: decodeURIComponent(text) }
      assert.equal((await allot.as(ann, 'POST', `${at}/branches`, from)).status, 404)
      assert.equal((await allot.as(ann, 'DELETE', `${at}/branches/${text}`)).status, 404)
    }
  })

  it('is not a branch whose name ends like what git-describe writes', async () => {
    const name = `fix-g${ids.first!.slice(0, 7)}`
    const branch = { new_branch_name: name, old_ref_name: ids.third }
    assert.equal((await allot.as(ann, 'POST', `${at}/branches`, branch)).status, 201)
    assert.equal((await body(`/branches/${name}`)).commit.id, ids.third)
    assert.equal((await body(`/git/trees/${name}`)).sha, await idOf('main^{tree}'))
    assert.equal((await body(`/commits?sha=${name}`)).length, 3)
    assert.equal((await allot.as(ann, 'DELETE', `${at}/branches/${name}`)).status, 204)
  })

  it('is also an archive that the viewer cannot read, and asks a visitor to sign in', async () => {
    const path = await allot.repository(ann, 'secret', { auto_init: true, private: true })
    const url = `${allot.base}/${path}/archive/main.zip`
    assert.equal((await fetch(url)).status, 401)
    assert.equal((await fetch(url, { headers: { authorization: `token ${ben.token}` } })).status, 404)
    assert.equal((await fetch(url, { headers: { authorization: `token ${ann.token}` } })).status, 200)
  })
})
