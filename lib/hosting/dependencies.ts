import type { HostAuthenticate } from '../accounts/host-users.ts'
import type { LoginLimits } from '../accounts/login-throttle.ts'
import type { OnDeletionError } from '../disk.ts'
import type { FileStorage } from '../files/index.ts'
import type { GitStorage } from '../git/index.ts'
import type { GitReader } from '../git/objects/reader.ts'
import type { Transport } from '../git/transport.ts'
import type { Log } from '../http/index.ts'
import type { OnBeforeStore } from '../quota/before-store.ts'
import type { QuotaEngine } from '../quota/index.ts'
import type { Jobs } from '../records/jobs.ts'
import type { Store } from '../records/store.ts'
import type { Push } from '../repositories/push-journal.ts'
import type { AllowedAddresses } from '../webhooks/addresses.ts'
import type { Outbox } from '../webhooks/outbox.ts'

/**
 * The options that services take, by the names and groups of `Options` (lib/options/index.ts), whose value is
 * passed whole.
 */
interface HostingSettings {
  readonly baseUrl?: string | undefined
  readonly login: LoginLimits | false
  readonly trustedProxies: number
  readonly newRepositories: 'public' | 'private'
  readonly pages: { readonly sessionLifetime: number }
  readonly quota: { readonly warnAt: number }
}

/** What services take of `HostDependencies` (lib/options/index.ts). */
export interface HostingHost {
  readonly authenticate?: HostAuthenticate | undefined
  readonly tokens: boolean
  readonly onBeforeStore?: OnBeforeStore | undefined
  readonly onPush?: ((push: Push) => void | Promise<void>) | undefined
  readonly log: Log
}

/** What is stored on the disk: `DiskStorage` in lib/data-folder.ts. */
interface HostingStorage {
  readonly gitStorage: GitStorage | undefined
  readonly transport: Transport | undefined
  readonly gitReader: GitReader | undefined
  readonly fileStorage: FileStorage
}

export interface HostingDependencies {
  readonly store: Store
  readonly quota: QuotaEngine
  readonly jobs: Jobs
  readonly outbox: Outbox
  /** Which addresses the receivers of webhooks may have. */
  readonly addresses: AllowedAddresses
  readonly storage: HostingStorage
  readonly settings: HostingSettings
  readonly host: HostingHost
  readonly onDeletionError: OnDeletionError
}
