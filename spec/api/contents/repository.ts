import { randomBytes } from 'node:crypto'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { aCheckout, git, urlFor } from '../../git/client.ts'
import type { ServedGit } from '../../git/served.ts'
import type { Person } from '../../support/test-server.ts'

/** A file that is too large to be read into memory. */
export const BIG = randomBytes(1_500_000)

export const POINTER = (oid: string, size: number) =>
  `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize ${size}\n`

/** A commit that a submodule is at, which need not exist. */
export const SUBMODULE_COMMIT = '1234567890123456789012345678901234567890'

/**
 * A repository with three commits on main, a branch, an annotated and a plain tag, folders, a symbolic link,
 * a submodule, an LFS pointer, a large file and a file whose name needs encoding.
 */
export const pushContents = async (
  allot: ServedGit,
  owner: Person,
  name: string,
  more = {},
): Promise<{ path: string; checkout: string; ids: Record<string, string> }> => {
  const path = await allot.repository(owner, name, more)
  const checkout = await aCheckout({ 'README.md': '# app\n' })
  mkdirSync(join(checkout, 'src/deep'), { recursive: true })
  const add = (file: string, content: string | Uint8Array) => writeFileSync(join(checkout, file), content)
  const commit = async (message: string) => {
    await git(checkout, 'commit', '--quiet', '-m', message)
    return git(checkout, 'rev-parse', 'HEAD')
  }
  const ids: Record<string, string> = { first: await git(checkout, 'rev-parse', 'HEAD') }
  add('src/a.ts', 'export {}\n')
  add('src/deep/b.py', 'print(1)\n')
  add('src/c.h', 'int c;\n')
  add('A+#&ä b', 'odd\n')
  add('big.bin', BIG)
  add('asset.bin', POINTER('a'.repeat(64), 5))
  symlinkSync('README.md', join(checkout, 'link'))
  add('.gitmodules', '[submodule "lib"]\n\tpath = lib\n\turl = https://code.example.org/alice/lib.git\n')
  await git(checkout, 'add', '-A')
  await git(checkout, 'update-index', '--add', '--cacheinfo', `160000,${SUBMODULE_COMMIT},lib`)
  ids.second = await commit('Add files')
  await git(checkout, 'tag', '-a', 'v1.0', '-m', 'Version 1')
  add('README.md', '# app\n\nchanged\n')
  await git(checkout, 'add', 'README.md')
  ids.third = await commit('Change the readme')
  await git(checkout, 'tag', 'plain')
  await git(checkout, 'branch', 'feature/x', ids.second)
  await git(checkout, 'push', '--quiet', urlFor(allot, path, owner), 'main', 'feature/x', '--tags')
  return { path, checkout, ids }
}
