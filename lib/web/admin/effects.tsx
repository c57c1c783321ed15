/**
 * What a change of rules, groups or assignments does to owners, in words: the title, the counts, and a line
 * for each owner.
 */
import type { LimitStatus, QuotaRule } from '../../quota/evaluate.ts'
import type { NamedDifferences } from '../../quota/plans-by-name.ts'
import type { Difference } from '../../quota/policy-changes.ts'
import type { Effect, Effects, OwnerEffect, SubjectEffect } from '../../quota/simulation.ts'
import type { Subject } from '../../quota/subjects.ts'
import { formatCount, Size, StrongLink, unbrokenLimit } from '../parts/components.tsx'
import { inWords, subjectsInWords, subjectTexts } from '../parts/subject-names.ts'
import { formatUsedOf } from '../storage/limits.tsx'

interface EffectWords {
  readonly text: string
  /** Class of the color. */
  readonly state: 'over' | 'near' | 'within' | ''
  /** What one owner does, and what several do. */
  readonly counted: readonly [one: string, many: string]
}

const WORDS: Readonly<Record<Effect, EffectWords>> = {
  'goes over': { text: 'Goes over quota', state: 'over', counted: ['goes over quota', 'go over quota'] },
  'stays over': { text: 'Stays over quota', state: 'over', counted: ['stays over quota', 'stay over quota'] },
  'loses a limit': { text: 'No limit anymore', state: 'near', counted: ['loses a limit', 'lose a limit'] },
  'comes back': {
    text: 'Comes back within quota',
    state: 'within',
    counted: ['comes back within quota', 'come back within quota'],
  },
  'gets a limit': { text: 'Gets a limit', state: '', counted: ['gets a limit', 'get a limit'] },
}

/** The words for a change of an owner's state, and the class of their color. */
const wordsFor = ({ effect, subjects: [first], limit }: OwnerEffect): Pick<EffectWords, 'text' | 'state'> => {
  const { text, state } = WORDS[effect]
  // Other subjects still have a limit.
  const isPartial = effect === 'loses a limit' && limit !== undefined
  return { text: isPartial ? `${text} for ${nameOf(first!.subject)}` : text, state }
}

const nameOf = (subject: Subject): string => subjectTexts[subject].name.toLowerCase()

/** The order in which effects are counted: the worst first. */
const COUNTED: readonly Effect[] = ['goes over', 'stays over', 'comes back', 'loses a limit', 'gets a limit']

/** `1 goes over quota, 1 stays over quota`: only effects that some owner has */
const countsInWords = (counts: Effects['counts']): string =>
  COUNTED.filter((effect) => counts[effect] > 0)
    .map((effect) => formatCount(counts[effect], ...WORDS[effect].counted))
    .join(', ') || 'No owner’s state changes'

/** Which limit decides after a deletion. */
export const afterDeletion = ({ affected, unlimited, groupsAfter }: Effects): string => {
  const [they, have] = affected === 1 ? ['the owner', 'has'] : ['they', 'have']
  if (affected === 0) return ''
  if (unlimited === affected) return ` After deletion, ${they} ${have} no limit.`
  const groups = [...groupsAfter]
  const others = `${groups.length === 1 ? 'the group' : 'the groups'} ${inWords(groups)} ${groups.length === 1 ? 'decides' : 'decide'}`
  return unlimited === 0
    ? ` After deletion, ${others}.`
    : ` After deletion, ${formatCount(unlimited, 'owner has', 'owners have')} no limit; for the others, ${others}.`
}

type NamedEffects = Omit<Effects, 'owners'> & { readonly owners: readonly (OwnerEffect & { name: string })[] }

/** @param scope whether the owners to whom the change applies are said here, and not above */
export const EffectList = ({
  effects: { affected, unlimited, counts, owners },
  scope,
}: {
  effects: NamedEffects
  scope: boolean
}) => {
  const listed = Object.values(counts).reduce((sum, count) => sum + count, 0)
  // `concerns` says of a deletion after which no owner has a limit what the count would say.
  const isSaid = !scope && affected > 0 && unlimited === affected
  return (
    <>
      <p>
        {scope && `The change applies to ${affected === 0 ? 'no owner' : formatCount(affected, 'owner')}. `}
        {!isSaid && <strong>{countsInWords(counts)}.</strong>}
        {listed > owners.length && ` Showing the first ${owners.length}.`}
      </p>
      {owners.length > 0 && (
        <ul class="plain rows more">
          {owners.map((owner) => (
            <AffectedOwner key={owner.name} owner={owner} />
          ))}
        </ul>
      )}
    </>
  )
}

/** One line: how the state changes, with the limit that binds; the other subjects are listed on demand. */
const AffectedOwner = ({ owner }: { owner: OwnerEffect & { name: string } }) => {
  const { name, limit, subjects } = owner
  const { text, state } = wordsFor(owner)
  const [first, ...others] = subjects
  return (
    <li>
      <div class="line">
        <StrongLink to={`/-/storage/${name}`}>{name}</StrongLink>
        <span class={`state ${state}`}>{text}</span>
      </div>
      <div class="small">
        <SubjectLine {...first!} />
        {first!.after === undefined && limit !== undefined && (
          <>
            ; now {nameOf(limit.subject)} decides: <Binding limit={limit} />
          </>
        )}
      </div>
      {others.length > 0 && (
        <details class="small">
          <summary>{formatCount(others.length, 'other subject')}</summary>
          {others.map((other) => (
            <div key={other.subject}>
              {WORDS[other.effect].text}: <SubjectLine {...other} />
            </div>
          ))}
        </details>
      )}
    </li>
  )
}

/** `Total: 173 of 100 MiB, rule total; limit before: 200 MiB` */
const SubjectLine = ({ subject, before, after }: SubjectEffect) => (
  <>
    {subjectTexts[subject].name}:{' '}
    {after === undefined ? (
      <>
        <Size bytes={usedOf(before!)} />, no limit
      </>
    ) : (
      <Binding limit={after} />
    )}
    {before !== undefined && (before.limit !== after?.limit || before.rule !== after.rule) && (
      <>
        ; limit before: {unbrokenLimit(before.limit)}
        {before.rule !== after?.rule && (
          <>
            {' '}
            by the rule <em>{before.rule}</em>
          </>
        )}
      </>
    )}
  </>
)

const Binding = ({ limit }: { limit: LimitStatus }) => (
  <>
    {formatUsedOf({ used: usedOf(limit), rule: limit })}, rule <em>{limit.rule}</em>
  </>
)

const usedOf = ({ limit, left }: LimitStatus) => limit - left

/** Says what a form changes, such as `Rule total: 200 MiB → 100 MiB`. */
export const changeTitle = ({ rules, groups, assignments }: NamedDifferences): string =>
  [...rules.map(ruleTitle), ...groups.map(groupTitle), ...assignmentTitles(assignments)].join('; ') ||
  'Nothing changes'

const ruleTitle = ({ key, before, after }: Difference<string, QuotaRule>): string => {
  if (before === undefined || after === undefined)
    return `New rule ${key}: ${unbrokenLimit(after!.limit)} for ${subjectsInWords(after!.subjects)}`
  const pairs = [
    [unbrokenLimit(before.limit), unbrokenLimit(after.limit)],
    [subjectsInWords(before.subjects), subjectsInWords(after.subjects)],
  ].filter(([old, now]) => old !== now)
  return `Rule ${key}: ${pairs.map((pair) => pair.join(' → ')).join(', ')}`
}

/** Owners that a title names. */
const MAX_NAMED = 3

type ListDifference = Difference<string, readonly string[]>

const groupTitle = (difference: ListDifference): string =>
  difference.before === undefined
    ? `New group ${difference.key}`
    : `Group ${difference.key} ${gainsAndLosses(difference, 'rule', 1)}`

/** Owners whose groups change in the same way have one title. */
const assignmentTitles = (differences: readonly ListDifference[]): string[] => {
  const same = new Map<string, ListDifference[]>()
  for (const difference of differences) {
    const text = gainsAndLosses(difference, 'group', 1)
    same.set(text, [...(same.get(text) ?? []), difference])
  }
  return [...same.values()].map((some) => {
    const names = some.map(({ key }) => key)
    const owners = names.length > MAX_NAMED ? formatCount(names.length, 'owner') : inWords(names)
    return `${owners} ${gainsAndLosses(some[0]!, 'group', names.length)}`
  })
}

/** `gets the rule builds and loses the rules a and b` */
const gainsAndLosses = ({ before = [], after = [] }: ListDifference, what: string, count: number): string => {
  const [get, lose] = count === 1 ? ['gets', 'loses'] : ['get', 'lose']
  const parts = [
    [get, after.filter((name) => !before.includes(name))],
    [lose, before.filter((name) => !after.includes(name))],
  ] as const
  const changed = parts.filter(([, names]) => names.length > 0)
  if (changed.length === 0) return `${get} another order of ${what}s`
  return inWords(
    changed.map(([verb, names]) => `${verb} the ${names.length === 1 ? what : `${what}s`} ${inWords(names)}`),
  )
}
