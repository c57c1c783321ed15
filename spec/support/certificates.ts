import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runSync } from './child.ts'
import { temporaryDirectory } from './folder.ts'

/** PEM files of a certificate and of its key. */
export interface Issued {
  certificate: string
  key: string
}

const DAY_MS = 24 * 60 * 60 * 1000
const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']

const AUTHORITY_CONFIG = `[ca]
default_ca = spec
[spec]
new_certs_dir = .
database = index.txt
default_md = sha256
rand_serial = yes
policy = any
copy_extensions = copy
unique_subject = no
[any]
commonName = supplied
`

/** A certificate authority with a new key, whose certificates openssl writes. */
export class Authority {
  readonly #folder = temporaryDirectory()
  /** The file that clients trust. */
  readonly file = join(this.#folder, 'ca.pem')
  #issued = 0

  constructor() {
    writeFileSync(join(this.#folder, 'ca.cnf'), AUTHORITY_CONFIG)
    writeFileSync(join(this.#folder, 'index.txt'), '')
    this.#openssl('req', '-x509', ...NEW_KEY, '-keyout', 'ca.key', '-out', 'ca.pem', '-subj', '/CN=Spec CA')
  }

  /** The certificate of the authority, as text. */
  get pem(): string {
    return readFileSync(this.file, 'utf8')
  }

  /** Issues a certificate for names; by default it is valid from yesterday on for 90 days. */
  issue({ days = [-1, 89], names = 'DNS:localhost,IP:127.0.0.1' } = {}): Issued {
    const name = `leaf${++this.#issued}`
    const [start, end] = days.map((day) => opensslTime(Date.now() + day * DAY_MS)) as [string, string]
    const request = ['-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${name}`]
    this.#openssl('req', '-new', ...NEW_KEY, ...request, '-addext', `subjectAltName=${names}`)
    const signer = ['-cert', 'ca.pem', '-keyfile', 'ca.key']
    const dates = ['-startdate', start, '-enddate', end]
    const output = ['-in', `${name}.csr`, '-out', `${name}.pem`, '-notext', '-batch']
    this.#openssl('ca', '-config', 'ca.cnf', ...signer, ...dates, ...output)
    return { certificate: join(this.#folder, `${name}.pem`), key: join(this.#folder, `${name}.key`) }
  }

  #openssl(...args: string[]): void {
    runSync('openssl', args, { cwd: this.#folder })
  }
}

/** Such as `20261121040900Z`. */
const opensslTime = (ms: number): string => `${new Date(ms).toISOString().replace(/[-:T]|\..*$/g, '')}Z`
