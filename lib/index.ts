export type { SignedIn, Viewer } from './accounts/access.ts'
export type { AccountEdit, Accounts, NewAccount } from './accounts/accounts.ts'
export type { Tokens, VerifiedToken } from './accounts/credentials.ts'
export type { HostAuthenticate, HostIdentity } from './accounts/host-users.ts'
export type { GpgKeys, SshKeys } from './accounts/keys.ts'
export type { Organizations } from './accounts/organizations.ts'
export type { SetUpOptions, SetUpResult } from './accounts/set-up.ts'
export { type Allot, createAllot, importAllot } from './allot.ts'
export type { QuotaInfo } from './api/quota/schema.ts'
export type { Attachments } from './content/attachments.ts'
export type { Comments } from './content/comments.ts'
export type { Issues } from './content/issues.ts'
export type { Packages } from './content/packages/index.ts'
export type { Releases } from './content/releases.ts'
export { AllotError, type ErrorCode } from './errors.ts'
export type { LastLine as ExportSummary, OnProgress, Write } from './exports/format.ts'
export type { HtmlPage } from './host-pages/html-pages.ts'
export type { HtmlUrlFunction } from './host-pages/html-urls.ts'
export type { FetchOptions, MountOptions } from './http/index.ts'
export type { DailyUsage, HostQuota } from './in-process-quota.ts'
export type { MetricsRegistry } from './metrics/types.ts'
export type {
  AllotOptions,
  AttachmentsOptions,
  ContentsOptions,
  CorsOptions,
  DataOptions,
  FilesOptions,
  GitOptions,
  HtmlUrlsOptions,
  LfsOptions,
  LoginOptions,
  MarkdownOptions,
  PackagesOptions,
  PagesOptions,
  QuotaSettings,
  RepositoriesOptions,
  SshOptions,
  WebhooksOptions,
} from './options/index.ts'
export {
  type BytesToStore,
  type OnBeforeStore,
  refuseOver,
  type StoreKind,
} from './quota/before-store.ts'
export type { QuotaExplanation, QuotaGroup, QuotaRule } from './quota/evaluate.ts'
export type {
  NamedDifferences as QuotaPlanDifferences,
  NamedPlan as QuotaPlan,
} from './quota/plans-by-name.ts'
export type { QuotaEvent } from './quota/quota-events.ts'
export { type Subject, subjects } from './quota/subjects.ts'
export { OverQuotaError } from './quota/within.ts'
export { createQuota, type Quota, type QuotaOptions } from './quota-only/index.ts'
export type { Page, Slice } from './records/pages.ts'
export type {
  Account,
  Attachment,
  Comment,
  GpgKey,
  Issue,
  PackageFile,
  PackageVersion,
  Release,
  Repository,
  SshKey,
  Token,
} from './records/schema/index.ts'
export type { NewRepository } from './repositories/git-data.ts'
export type {
  Ledger,
  LedgerEntry,
  LedgerListing,
  LedgerName,
  LedgerOperation,
  OwnerEntry,
  PutOptions,
} from './repositories/ledger/ledger-types.ts'
export type { RepositoryName } from './repositories/names.ts'
export type { Relations } from './repositories/relations.ts'
export type { Repositories } from './repositories/repositories.ts'
export { createLimitedServer, type LimitOptions, type ServerLimits } from './server.ts'
export type { SshCommand, SshConnectionOptions } from './ssh/types.ts'
export type { StorageDriver } from './storage/index.ts'
export type { Verification } from './verify.ts'
export type {
  CommentEvent,
  ForkEvent,
  HostEvents,
  IssueEvent,
  PackageEvent,
  RefEvent,
  ReleaseEvent,
  RepositoryEvent,
} from './webhooks/events.ts'
