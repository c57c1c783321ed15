// Written by `npx tsx spec/readme/option-types.ts` from the schemas in lib/options/index.ts and lib/server.ts.

/** The options of `createAllot` that are data. Sizes are bytes, times are milliseconds. */
export interface DataOptions {
  /**
   * Data folder, with the folders `store` (records, unless another driver stores them), `repositories` (git data)
   * and `files`. Default: `"./data"`.
   */
  data?: string | undefined
  /** Path below which all routes are. Default: `"/api/v1"`. */
  basePath?: string | undefined
  /**
   * Public URL of the service, for links in responses; taken from the headers of a request when absent. `allot
   * serve` serves below its path.
   */
  baseUrl?: string | undefined
  /**
   * URL of the picture of an account, such as `https://people.example.org/{username}.png`; a picture with the first
   * letter of the name when absent.
   */
  avatarUrl?: string | undefined
  /**
   * With `forgejo`, responses are those of a Forgejo where they differ from the specification that Allot was
   * written to. Clients of Gitea accept them, too. Default: `"specification"`.
   */
  dialect?: 'specification' | 'forgejo' | undefined
  /**
   * Maximum size of a request body, for routes without a limit of their own: bytes, or `"1 MiB"`. Larger bodies get
   * 413. Default: `1048576`.
   */
  maxBodySize?: number | string | undefined
  /** Number of items on a page when `limit` is absent. Default: `30`. */
  pageSize?: number | undefined
  /** Maximum value of `limit`. Default: `50`. */
  maxPageSize?: number | undefined
  /**
   * Number of reverse proxies in front of the server, whose `X-Forwarded-For`, `X-Forwarded-Proto` and
   * `X-Forwarded-Host` are trusted. Default: `0`.
   */
  trustedProxies?: number | undefined
  /**
   * Whether clients must sign in to read anything: the API, git, downloads and the pages. The OpenAPI document and
   * the avatars stay open. Default: `false`.
   */
  requireSignIn?: boolean | undefined
  /**
   * Whether a new repository is public or private when its creator does not say. Forks are as private as what they
   * are made of. Default: `"public"`.
   */
  newRepositories?: 'public' | 'private' | undefined
  /**
   * Who may create and fork repositories by the API: `users`, where they have the right to, or `administrators`.
   * Default: `"users"`.
   */
  repositoryCreators?: 'users' | 'administrators' | undefined
  /** Who may create organizations by the API: all `users`, or `administrators`. Default: `"users"`. */
  organizationCreators?: 'users' | 'administrators' | undefined
  /**
   * Whether issues, comments, releases and their attachments are served; `false` is for hosts that store them
   * themselves. Default: `true`.
   */
  issues?: boolean | undefined
  /** Whether commit statuses are served, which CI systems set; needs `contents`. Default: `true`. */
  statuses?: boolean | undefined
  /** Whether the routes of collaborators and teams are served; rights that were given stay. Default: `true`. */
  sharing?: boolean | undefined
  /** Webhooks: `true`, or how their deliveries are sent, turns them on. Default: `false`. */
  webhooks?: boolean | WebhooksOptions | undefined
  /** Whether repositories can be forked. Default: `true`. */
  forks?: boolean | undefined
  /** Limits of owners without a group, and warnings. */
  quota?: QuotaSettings | undefined
  /** Git data on this disk; `false` when the host stores repositories itself. */
  repositories?: false | RepositoriesOptions | undefined
  /** Git over HTTP and its limits. */
  git?: GitOptions | undefined
  /** Git over SSH, with the SSH keys of the accounts. The limits in `git` apply, too. */
  ssh?: SshOptions | undefined
  /** Files, commits, branches and tags over the API; `false` turns it off. */
  contents?: false | ContentsOptions | undefined
  /** Files other than git data. */
  files?: FilesOptions | undefined
  /** Attachments of issues and releases. */
  attachments?: AttachmentsOptions | undefined
  /** Git LFS; `false` turns it off. */
  lfs?: false | LfsOptions | undefined
  /** The package registry; `false` turns it off. */
  packages?: false | PackagesOptions | undefined
  /** Rendering of markdown. */
  markdown?: MarkdownOptions | undefined
  /** Requests from pages of other origins. */
  cors?: CorsOptions | undefined
  /** Limits of failed logins; `false` when the host limits them itself. */
  login?: false | LoginOptions | undefined
  /** The web pages. */
  pages?: PagesOptions | undefined
  /** Templates of `html_url`, for hosts with pages of their own. */
  htmlUrls?: HtmlUrlsOptions | undefined
}

/** Webhooks: `true`, or how their deliveries are sent, turns them on. Default: `false`. */
export interface WebhooksOptions {
  /**
   * Receivers that may have addresses which are not public: addresses, networks such as `10.0.0.0/8`, and host
   * names such as `ci.internal` or `*.corp.example`. Default: `[]`.
   */
  allowedHosts?: string[] | undefined
  /** Milliseconds within which a receiver must answer. Default: `10000`. */
  timeout?: number | undefined
  /** Maximum number of deliveries that are sent at a time. Default: `100`. */
  maxConcurrent?: number | undefined
  /** Maximum number of deliveries that are sent to one host at a time. Default: `5`. */
  maxConcurrentPerReceiver?: number | undefined
  /**
   * Milliseconds after the change that caused it in which a delivery that fails is tried again, with growing
   * pauses. Later deliveries of the webhook wait for it. Default: `86400000`.
   */
  retryFor?: number | undefined
  /** Milliseconds for which deliveries are kept after they were sent or given up. Default: `604800000`. */
  keepFor?: number | undefined
}

/** Limits of owners without a group, and warnings. */
export interface QuotaSettings {
  /** Names of the quota groups of users and organizations that have no assigned group. Default: `[]`. */
  defaultGroups?: string[] | undefined
  /** Limit on `size:all` for owners without any group: bytes, or `"2 GiB"`; -1 is unlimited. */
  defaultTotal?: number | string | undefined
  /**
   * Share of a rule's limit from which an owner is near it, on the pages and for the event `quota`; with 1, no
   * owner is near a limit. Default: `0.8`.
   */
  warnAt?: number | undefined
}

/** Git data on this disk; `false` when the host stores repositories itself. */
export interface RepositoriesOptions {
  /** Folder of the bare repositories; `repositories` in the data folder when absent. */
  directory?: string | undefined
  /** Name or path of the `git` command. Default: `"git"`. */
  git?: string | undefined
}

/** Git over HTTP and its limits. */
export interface GitOptions {
  /** Whether clients clone, fetch and push over HTTP, at `clone_url`. Default: `true`. */
  http?: boolean | undefined
  /**
   * Maximum number of concurrent git requests. A request that waits longer than 1.5 seconds gets 503. Default:
   * `32`.
   */
  maxConcurrent?: number | undefined
  /** Maximum number of concurrent git requests of one account or address; a quarter of `maxConcurrent` when absent. */
  maxConcurrentPerClient?: number | undefined
  /** Milliseconds without traffic in either direction after which a git request is ended. Default: `60000`. */
  idleTimeout?: number | undefined
  /** Milliseconds after which a git request is ended in any case. Default: `3600000`. */
  timeout?: number | undefined
  /**
   * Maximum size of a push, both as it is sent and unpacked (deltas count as deltas): bytes, or `"2 GiB"`;
   * unlimited when absent.
   */
  maxPushSize?: number | string | undefined
  /**
   * Maximum memory of each git process, where the system can limit it: bytes, or `"1 GiB"`. Repositories with many
   * million objects need more. Default: `1073741824`.
   */
  maxMemory?: number | string | undefined
}

/** Git over SSH, with the SSH keys of the accounts. The limits in `git` apply, too. */
export interface SshOptions {
  /** Port of SSH, which `allot serve` listens on and `ssh_url` names. Git over SSH is off when absent. */
  port?: number | undefined
  /** Port that `ssh_url` names, when clients reach the server by another one than it listens on. */
  publicPort?: number | undefined
  /** Host name in `ssh_url`; that of `baseUrl`, or of the request, when absent. */
  host?: string | undefined
  /**
   * File with the private key of the server, without a passphrase. When absent, the first start makes an Ed25519
   * and an ECDSA key in the folder `ssh` of the repositories.
   */
  hostKey?: string | undefined
  /** Maximum number of open SSH connections. Further connections are closed. Default: `200`. */
  maxConnections?: number | undefined
  /** Maximum number of open SSH connections of one address (for IPv6: of one /64); a quarter of all when absent. */
  maxConnectionsPerAddress?: number | undefined
  /** Milliseconds within which an SSH client must have signed in. Default: `30000`. */
  loginTimeout?: number | undefined
  /** Milliseconds after which an SSH connection without a running command is closed. Default: `60000`. */
  idleTimeout?: number | undefined
}

/** Files, commits, branches and tags over the API; `false` turns it off. */
export interface ContentsOptions {
  /** Maximum number of `git cat-file` processes that are kept open, of all repositories. Default: `16`. */
  processes?: number | undefined
  /** Milliseconds after which such a process is ended when nothing is read. Default: `30000`. */
  idleTimeout?: number | undefined
  /**
   * Maximum number of concurrent git commands for lists of commits, comparisons and archives. Those that go on
   * after their response, such as the count of a long history, are at most half as many in addition. Default: `8`.
   */
  maxConcurrent?: number | undefined
  /** Milliseconds after which a read is ended with 503. Default: `30000`. */
  timeout?: number | undefined
  /**
   * Maximum memory for git objects and for responses made of them, half each: bytes, or `"64 MiB"`. Default:
   * `67108864`.
   */
  cacheSize?: number | string | undefined
  /**
   * Maximum size of a file in a JSON response, and of a folder; larger files are downloads. Bytes, or `"16 MiB"`.
   * Default: `16777216`.
   */
  maxObjectSize?: number | string | undefined
  /** Maximum output of a git command that is made into a JSON response: bytes, or `"64 MiB"`. Default: `67108864`. */
  maxOutputSize?: number | string | undefined
}

/** Files other than git data. */
export interface FilesOptions {
  /** Folder of LFS objects, packages and attachments; `files` in the data folder when absent. */
  directory?: string | undefined
}

/** Attachments of issues and releases. */
export interface AttachmentsOptions {
  /** Maximum size of an attachment: bytes, or `"100 MiB"`. Larger uploads get 413. Default: `104857600`. */
  maxSize?: number | string | undefined
  /**
   * What a user without write permission can attach to issues and comments in repositories of one owner, whose
   * quota pays for it, in a day (UTC): bytes, or `"100 MiB"`. More gets 413; 0 refuses all of it. Default:
   * `104857600`.
   */
  maxGuestBytesPerDay?: number | string | undefined
}

/** Git LFS; `false` turns it off. */
export interface LfsOptions {
  /** Maximum size of an LFS object: bytes, or `"2 GiB"`; unlimited when absent. */
  maxSize?: number | string | undefined
}

/** The package registry; `false` turns it off. */
export interface PackagesOptions {
  /** Maximum size of a file of a package: bytes, or `"2 GiB"`; unlimited when absent. */
  maxSize?: number | string | undefined
}

/** Rendering of markdown. */
export interface MarkdownOptions {
  /** Milliseconds after which rendering a text is ended with 422. Default: `2000`. */
  timeout?: number | undefined
}

/** Requests from pages of other origins. */
export interface CorsOptions {
  /**
   * Origins whose pages may read responses, such as `https://app.example.org`; `*` allows every origin. Default:
   * `[]`.
   */
  origins?: string[] | undefined
}

/** Limits of failed logins; `false` when the host limits them itself. */
export interface LoginOptions {
  /** Failed logins for one name from one address within the window, after which logins get 429. Default: `20`. */
  failures?: number | undefined
  /** Failed logins from one address (for IPv6: one /64) for any names within the window. Default: `100`. */
  failuresFromAddress?: number | undefined
  /**
   * Failed logins for one name from all addresses within the window. Beyond it, each address has one try at a time,
   * so an attack cannot lock the user out. Default: `100`.
   */
  failuresForName?: number | undefined
  /** Wrong tokens from one address within the window. Correct tokens are always accepted. Default: `1000`. */
  wrongTokens?: number | undefined
  /** Milliseconds in which all failures expire, one after another. Default: `900000`. */
  window?: number | undefined
}

/** The web pages. */
export interface PagesOptions {
  /** Milliseconds after which a user of the pages must sign in again. Default: `43200000`. */
  sessionLifetime?: number | undefined
  /**
   * Whether the pages link owners, repositories, attachments, packages and artifacts to their `html_url`: for hosts
   * that show them there. Allot shows none of them itself then. Default: `false`.
   */
  links?: boolean | undefined
  /** Name of the service, in the header and in the title of each page. Default: `"Allot"`. */
  name?: string | undefined
  /**
   * Image in place of the name in the header, and icon of the pages: a path of their origin, or a URL that begins
   * with `https://`.
   */
  logo?: string | undefined
  /** Path or URL of the link in the header that leads back to your site; no link when absent. */
  backUrl?: string | undefined
  /** Text of that link. Default: `"Back"`. */
  backText?: string | undefined
  /**
   * Path or URL of your page to sign in, with `authenticate`, such as `/login?next={to}`. Pages that need a user
   * lead there, with the page to come back to in place of `{to}`, which the value must have: its path, or its URL
   * when the value is a URL.
   */
  loginUrl?: string | undefined
  /** The same for the link to sign out, such as `/logout?next={to}`. */
  logoutUrl?: string | undefined
  /**
   * CSS that follows the style sheet of the pages in the same file, such as values of the variables that
   * `docs/configuration.md` lists. Default: `""`.
   */
  css?: string | undefined
}

/** Templates of `html_url`, for hosts with pages of their own. */
export interface HtmlUrlsOptions {
  /**
   * Path below `baseUrl` at which the host mounts Allot's pages, such as `/storage`: `html_url` leads there for
   * each kind of page that Allot serves. That of `allot.listener` when absent.
   */
  pages?: string | undefined
  /**
   * URL of the page of a user; placeholders: `{username}`. Allot's own, `/{username}` below `htmlUrls.pages`, when
   * absent.
   */
  user?: string | undefined
  /**
   * URL of the page of an organization; placeholders: `{org}`. Allot's own, `/{org}` below `htmlUrls.pages`, when
   * absent.
   */
  organization?: string | undefined
  /**
   * URL of the page of a repository; placeholders: `{owner}`, `{repo}`. Allot's own, `/{owner}/{repo}` below
   * `htmlUrls.pages`, when absent.
   */
  repository?: string | undefined
  /**
   * URL of the page of an issue; placeholders: `{owner}`, `{repo}`, `{index}`. Allot's own,
   * `/{owner}/{repo}/issues/{index}` below `htmlUrls.pages`, when absent.
   */
  issue?: string | undefined
  /**
   * URL of the page of a comment; placeholders: `{owner}`, `{repo}`, `{index}`, `{id}`. That of the issue with
   * `#issuecomment-{id}` when absent.
   */
  comment?: string | undefined
  /**
   * URL of the page of a release; placeholders: `{owner}`, `{repo}`, `{tag}`. Allot's own,
   * `/{owner}/{repo}/releases/tag/{tag}` below `htmlUrls.pages`, when absent.
   */
  release?: string | undefined
  /**
   * URL of the page of a release that is known only from an attachment in the ledger; placeholders: `{owner}`,
   * `{repo}`, `{index}`. Default: `"/{owner}/{repo}/releases/{index}"`.
   */
  ledgerRelease?: string | undefined
  /**
   * URL of the page of a version of a package; placeholders: `{owner}`, `{type}`, `{name}`, `{version}`. Allot's
   * own, `/{owner}/-/packages/{type}/{name}/{version}` below `htmlUrls.pages`, when absent.
   */
  package?: string | undefined
  /**
   * URL of the page of an artifact; placeholders: `{owner}`, `{repo}`, `{run}`, `{name}`, `{key}`. Default:
   * `"/{owner}/{repo}/actions/runs/{run}"`.
   */
  artifact?: string | undefined
}

/** Limits on the resources that clients of a server can use. Sizes are bytes, times are milliseconds. */
export interface LimitOptions {
  /**
   * Maximum size of the request line and headers together: bytes, or `"16 KiB"`. Larger requests get 431. Default:
   * `16384`.
   */
  maxHeaderSize?: number | string | undefined
  /** Maximum number of header lines of a request. Requests with more get 431. Default: `100`. */
  maxHeaders?: number | undefined
  /** Milliseconds in which the headers of a request must arrive. Slower requests get 408. Default: `10000`. */
  headersTimeout?: number | undefined
  /**
   * Milliseconds in which a request with its body must arrive, plus the time that the body takes at its minimum
   * speed. Slower requests get 408. Default: `60000`.
   */
  requestTimeout?: number | undefined
  /**
   * Minimum speed of a body in bytes per second, once the time for a request has passed: a push may be large, but
   * not slow. Default: `1024`.
   */
  bodyRate?: number | string | undefined
  /**
   * Milliseconds without a byte after which the server stops waiting for a body and responds with 408. Default:
   * `15000`.
   */
  bodyIdleTimeout?: number | undefined
  /** Milliseconds without traffic in either direction after which a connection is closed. Default: `60000`. */
  idleTimeout?: number | undefined
  /** Milliseconds for which an idle connection stays open for the next request. Default: `5000`. */
  keepAliveTimeout?: number | undefined
  /** Maximum number of open connections. Further connections get 503 and are closed. Default: `1000`. */
  maxConnections?: number | undefined
  /**
   * Maximum number of open connections of one address (for IPv6: of one /64); a quarter of all connections when
   * absent. Behind proxies, the maximum number of unanswered requests of one address.
   */
  maxConnectionsPerAddress?: number | undefined
}
