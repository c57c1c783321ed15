/** @jsxRuntime automatic @jsxImportSource preact */

import { formatBytes, formatSize } from '../byte-sizes.ts'
import { Notice, Size } from './components.tsx'
import { PartBar, StateLabel, type SubjectStatus, Swatch, stateText, usageParts } from './usage-bar.tsx'

interface Limits {
  total: SubjectStatus
  /** In the order of `usageParts`. */
  parts: readonly SubjectStatus[]
}

/** The parts with less left than the total; for the others, the limit of the total is the one that counts. */
const tighterParts = ({ total, parts }: Limits) =>
  parts
    .map((status, part) => ({ name: usageParts[part]!.name, part, status }))
    .filter(({ status: { binding } }) => {
      if (binding === undefined) return false
      return total.binding === undefined || binding.remaining < total.binding.remaining
    })

/** What is over quota, and what is near its limit. */
export const Warnings = (limits: Limits) => {
  const statuses = [{ name: 'Total', status: limits.total }, ...tighterParts(limits)]
  return (
    <>
      {(['over', 'near'] as const).map((state) => {
        const warnings = statuses.filter(({ status }) => status.state === state)
        return (
          warnings.length > 0 && (
            <Notice key={state} kind={state}>
              {warnings.map(({ name, status }) => (
                <div key={name}>
                  <strong>{name}:</strong> {stateText(status)}
                </div>
              ))}
            </Notice>
          )
        )
      })}
    </>
  )
}

export const UsageSummary = ({ total }: { total: SubjectStatus }) => (
  <p>
    <strong>{formatSize(total.used)}</strong> used ({formatBytes(total.used)})
    {total.binding !== undefined && `, limit ${formatSize(total.binding.limit)}`}. {stateText(total)}.
  </p>
)

/** The limits of single parts, with a bar for each. */
export const PartLimits = (limits: Limits) => {
  const tighter = tighterParts(limits)
  return tighter.length === 0 ? null : (
    <section aria-labelledby="limits">
      <h2 id="limits">Limits</h2>
      <ul class="statuses">
        {tighter.map(({ name, part, status }) => (
          <li key={name}>
            <div class="line">
              <span>
                <Swatch part={part} />
                {name}
              </span>
              <StateLabel status={status} />
            </div>
            <PartBar status={status} part={part} />
            <UsedAndLimit status={status} />
          </li>
        ))}
      </ul>
    </section>
  )
}

export const UsedAndLimit = ({ status: { used, binding } }: { status: SubjectStatus }) => (
  <div class="line small">
    <span>
      <Size bytes={used} /> used
    </span>
    {binding !== undefined && <span>limit {formatSize(binding.limit)}</span>}
  </div>
)
