import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runSync } from '../support/child.ts'
import { temporaryDirectory } from '../support/folder.ts'

/** A key as `ssh-keygen -l` lists it. */
export interface Listed {
  bits: number
  fingerprint: string
}

/** Runs ssh-keygen in a temporary folder. */
export const sshKeygen = () => {
  const folder = temporaryDirectory()
  let files = 0
  const run = (...words: string[]) => runSync('ssh-keygen', words)
  return {
    /** @returns the texts of the public and the private file */
    generate(type: string, bits?: number, comment = 'someone@example.org') {
      const file = join(folder, String(++files))
      const size = bits === undefined ? [] : ['-b', String(bits)]
      run('-q', '-N', '', '-t', type, ...size, '-C', comment, '-f', file)
      return { file, public: readFileSync(`${file}.pub`, 'utf8'), private: readFileSync(file, 'utf8') }
    },
    list(publicKey: string): Listed {
      const file = join(folder, String(++files))
      writeFileSync(file, `${publicKey}\n`)
      const [bits, fingerprint = ''] = run('-l', '-f', file).split(' ')
      return { bits: Number(bits), fingerprint }
    },
    /** @returns the line of a key in RFC 4716 */
    imported(text: string): string {
      const file = join(folder, String(++files))
      writeFileSync(file, text)
      return run('-i', '-f', file).trim()
    },
    run,
    end: () => rmSync(folder, { recursive: true, force: true }),
  }
}
