import * as v from 'valibot'
import type { Attached } from '../../content/usage-lists.ts'
import type { Sum } from '../../integers.ts'
import type { QuotaExplanation, QuotaGroup, QuotaRule } from '../../quota/evaluate.ts'
import type { QuotaStatus } from '../../quota/status.ts'
import { Subject, type Usage } from '../../quota/subjects.ts'
import type { LedgerEntry } from '../../records/schema/index.ts'
import { holderPaths } from '../content/attachment-schema.ts'

/** Bytes, or -1 for unlimited. */
const limit = v.pipe(v.number(), v.safeInteger())

/** The name is shown to administrators only. */
export const QuotaRuleInfo = v.object({ name: v.optional(v.string()), limit, subjects: v.array(Subject) })
export type QuotaRuleInfo = v.InferOutput<typeof QuotaRuleInfo>

export const QuotaGroupInfo = v.object({ name: v.optional(v.string()), rules: v.array(QuotaRuleInfo) })
export type QuotaGroupInfo = v.InferOutput<typeof QuotaGroupInfo>

/** The largest are sent as integers beyond 2^53-1, and are bigints here. */
export const bytes = v.number() as v.GenericSchema as v.GenericSchema<Sum>
export const QuotaInfo = v.object({
  used: v.object({
    size: v.object({
      repos: v.object({ public: bytes, private: bytes }),
      git: v.object({ LFS: bytes }),
      assets: v.object({
        attachments: v.object({ issues: bytes, releases: bytes }),
        artifacts: bytes,
        packages: v.object({ all: bytes }),
      }),
    }),
  }),
  groups: v.array(QuotaGroupInfo),
})
export type QuotaInfo = v.InferOutput<typeof QuotaInfo>

export const ruleResource = (rule: QuotaRule, named = true): QuotaRuleInfo => ({
  ...(named ? { name: rule.name } : {}),
  limit: rule.limit,
  subjects: [...rule.subjects],
})

export const groupResource = (group: QuotaGroup, named = true): QuotaGroupInfo => ({
  ...(named ? { name: group.name } : {}),
  rules: group.rules.map((rule) => ruleResource(rule, named)),
})

export const quotaResource = ({ usage, shown }: QuotaStatus, named: boolean): QuotaInfo => ({
  used: { size: sizesOf(usage) },
  groups: shown.map((group) => groupResource(group, named)),
})

export const sizesOf = (usage: Usage): QuotaInfo['used']['size'] => ({
  repos: { public: usage.reposPublic, private: usage.reposPrivate },
  git: { LFS: usage.lfs },
  assets: {
    attachments: { issues: usage.issues, releases: usage.releases },
    artifacts: usage.artifacts,
    packages: { all: usage.packages },
  },
})

export const QuotaUsedAttachment = v.object({
  name: v.string(),
  size: v.number(),
  api_url: v.string(),
  contained_in: v.object({ api_url: v.string(), html_url: v.string() }),
})
export type QuotaUsedAttachment = v.InferOutput<typeof QuotaUsedAttachment>

export const QuotaUsedPackage = v.object({
  name: v.string(),
  type: v.string(),
  version: v.string(),
  size: v.number(),
  html_url: v.string(),
})
export type QuotaUsedPackage = v.InferOutput<typeof QuotaUsedPackage>

export const QuotaUsedArtifact = v.object({ name: v.string(), size: v.number(), html_url: v.string() })
export type QuotaUsedArtifact = v.InferOutput<typeof QuotaUsedArtifact>

/** Where an entry belongs: `owner/name` of its repository, or the owner alone. */
export interface EntryPlace {
  baseUrl: string
  apiUrl: string
  owner: string
  repository: string | undefined
  /** The repository is not shown: the addresses are empty. */
  isHidden?: boolean | undefined
  attached?: Attached | undefined
}

export const usedAttachmentResource = (entry: LedgerEntry, place: EntryPlace): QuotaUsedAttachment => {
  const { attached, owner, repository, apiUrl, baseUrl } = place
  const { name, size } = entry
  if (place.isHidden) return { name, size, api_url: '', contained_in: { api_url: '', html_url: '' } }
  const path = `${owner}/${repository}`
  const { api, page } = attached === undefined ? elsewhere(entry) : holderPaths(attached, entry.index ?? 0)
  const container = `${apiUrl}/repos/${path}/${api}`
  return {
    name,
    size,
    api_url: `${container}/assets/${attached?.id ?? encodeURIComponent(entry.key)}`,
    contained_in: { api_url: container, html_url: `${baseUrl}/${path}/${page}` },
  }
}

/** Of what the host keeps: its own names for it. */
const elsewhere = ({ on, index }: LedgerEntry) => {
  const path = `${on === 'issue' ? 'issues' : 'releases'}/${index ?? 0}`
  return { api: path, page: path }
}

export const usedPackageResource = (entry: LedgerEntry, place: EntryPlace): QuotaUsedPackage => {
  const { baseUrl, owner, isHidden } = place
  const [type, version] = [entry.type ?? '', entry.version ?? '']
  const path = [type, entry.name, version].map(encodeURIComponent).join('/')
  return {
    name: entry.name,
    type,
    version,
    size: entry.size,
    html_url: isHidden ? '' : `${baseUrl}/${owner}/-/packages/${path}`,
  }
}

export const usedArtifactResource = (entry: LedgerEntry, place: EntryPlace): QuotaUsedArtifact => ({
  name: entry.name,
  size: entry.size,
  html_url: place.isHidden
    ? ''
    : `${place.baseUrl}/${place.owner}/${place.repository}/actions/runs/${entry.run ?? 0}`,
})

const room = v.nullable(bytes)

export const QuotaExplanationInfo = v.object({
  subject: Subject,
  over: v.boolean(),
  /** Bytes that count toward the subject. */
  used: bytes,
  /** The limit that binds, and the bytes left below it; null where nothing limits. */
  limit: v.nullable(limit),
  left: room,
  groups: v.array(
    v.object({
      name: v.optional(v.string()),
      stands: v.boolean(),
      rules: v.array(
        v.object({
          name: v.optional(v.string()),
          limit,
          subjects: v.array(Subject),
          covers: v.boolean(),
          stands: v.boolean(),
          used: bytes,
          left: room,
        }),
      ),
    }),
  ),
})
export type QuotaExplanationInfo = v.InferOutput<typeof QuotaExplanationInfo>

export const explanationResource = (explained: QuotaExplanation, named: boolean): QuotaExplanationInfo => ({
  ...explained,
  groups: explained.groups.map(({ name, stands, rules }) => ({
    ...(named ? { name } : {}),
    stands,
    rules: rules.map(({ name: rule, subjects, ...rest }) => ({
      ...(named ? { name: rule } : {}),
      ...rest,
      subjects: [...subjects],
    })),
  })),
})
