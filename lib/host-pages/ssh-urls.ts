/** Where clients reach git over SSH: options of `ssh`. */
interface SshAddress {
  /** Host name; that of the service when undefined. */
  readonly host?: string | undefined
  /** Port that the server listens on; undefined while SSH is off. */
  readonly port?: number | undefined
  /** Port that clients reach, when it is another one. */
  readonly publicPort?: number | undefined
}

const DEFAULT_PORT = 22

/** The `ssh_url` of repositories: the short form where the port is that of SSH, as on Gitea and Forgejo. */
export class SshUrls {
  readonly #address: SshAddress

  constructor(address: SshAddress) {
    this.#address = address
  }

  /**
   * @param path `owner/name`
   * @param hostName of the service, for an address without one
   * @returns an empty text while SSH is off
   */
  of(path: string, hostName: string): string {
    const { host = hostName, port, publicPort: reached = port } = this.#address
    if (port === undefined) return ''
    // The host name of a URL has brackets around an IPv6 address, an option may have none.
    const name = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host
    if (reached === DEFAULT_PORT) return `git@${name}:${path}.git`
    return `ssh://git@${name}:${reached}/${path}.git`
  }
}
