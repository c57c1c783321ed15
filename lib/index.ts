export type { AccountEdit, Accounts, NewAccount } from './accounts/accounts.ts'
export type { Tokens } from './accounts/credentials.ts'
export type { HostAuthenticate, HostIdentity } from './accounts/identity.ts'
export type { Organizations } from './accounts/organizations.ts'
export type { SetUpOptions, SetUpResult } from './accounts/set-up.ts'
export { type Allot, createAllot, importAllot } from './allot.ts'
export type { QuotaInfo } from './api/quota/schema.ts'
export { AllotError, type ErrorCode } from './errors.ts'
export type { HtmlPage, HtmlUrlFunction } from './host-pages/html-urls.ts'
export type { FetchOptions, MountOptions } from './http/index.ts'
export type { DailyUsage, HostQuota, QuotaEvent } from './in-process-quota.ts'
export type { Sum } from './integers.ts'
export type * from './option-types.ts'
export type { AllotOptions } from './options.ts'
export type { QuotaExplanation, QuotaGroup, QuotaRule } from './quota/evaluate.ts'
export type {
  NamedDifferences as QuotaPlanDifferences,
  NamedPlan as QuotaPlan,
} from './quota/plans-by-name.ts'
export { type Subject, subjects } from './quota/subjects.ts'
export { createQuota, type Quota, type QuotaOptions } from './quota-only/index.ts'
export type { Account, Repository } from './records/schema/index.ts'
export type {
  Ledger,
  LedgerEntry,
  LedgerName,
  LedgerOperation,
  OwnerEntry,
} from './repositories/ledger-types.ts'
export type { Push } from './repositories/push-journal.ts'
export type { Repositories } from './repositories/repositories.ts'
export { createLimitedServer, type ServerLimits } from './server.ts'
export type { StorageDriver } from './storage/index.ts'
export type { LastLine as ExportSummary, OnProgress, Write } from './transfer/format.ts'
export type { Verification } from './verify.ts'
