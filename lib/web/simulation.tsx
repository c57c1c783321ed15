/** @jsxRuntime automatic @jsxImportSource preact */
import type { ChangedAnswer } from '../quota/plans.ts'
import { SubjectCode } from './components.tsx'
import { Notice, Post } from './document.tsx'
import { formatCount, formatSize } from './format.ts'
import type { PageContext, View } from './route.ts'
import { Size } from './usage-bar.tsx'

/** Whose answer would be another one. */
export interface ChangedOwnerView {
  readonly name: string
  readonly answers: readonly ChangedAnswer[]
}

export interface SimulationData {
  /** Where the form goes that would do it, and what it has sent. */
  readonly path: string
  readonly fields: readonly (readonly [name: string, value: string])[]
  readonly changed: readonly ChangedOwnerView[]
  readonly total: number
}

export const simulationView = (
  frame: PageContext,
  { path, fields, changed, total }: SimulationData,
): View => ({
  title: 'Whom it would change',
  body: (
    <>
      <h1>Whom it would change</h1>
      <Notice kind="said">Nothing has been stored.</Notice>
      <p>
        {total === 0
          ? 'Nobody would be over quota who is within, and nobody within who is over.'
          : `${formatCount(total, 'owner')} would be over quota or within it otherwise than now.`}
        {total > changed.length && ` These are the first ${changed.length}.`}
      </p>
      {changed.length > 0 && <Owners frame={frame} changed={changed} />}
      <Post frame={frame} to={path}>
        {fields.map(([name, value], at) => (
          <input key={at} type="hidden" name={name} value={value} />
        ))}
        <div class="buttons">
          <button type="submit">Do it</button>
          <a href={frame.at(backFrom(path, fields))}>Leave it as it is</a>
        </div>
      </Post>
    </>
  ),
})

/** The page that the form is on. */
const backFrom = (path: string, fields: SimulationData['fields']): string => {
  const name = fields.find(([field]) => field === 'name')?.[1] ?? ''
  const [, page] = /^(\/-\/admin\/(?:rule|group))(?:\/|$)/.exec(path) ?? []
  return page === undefined ? path : `${page}?name=${encodeURIComponent(name)}`
}

const Owners = ({ frame, changed }: { frame: PageContext; changed: readonly ChangedOwnerView[] }) => (
  <>
    {changed.map(({ name, answers }) => (
      <section key={name}>
        <h2>
          <a href={frame.at(`/-/storage/${name}`)}>{name}</a>
        </h2>
        <table>
          <thead>
            <tr>
              <th scope="col">Subject</th>
              <th scope="col" class="number">
                Used
              </th>
              <th scope="col" class="number">
                Limit
              </th>
            </tr>
          </thead>
          <tbody>
            {answers.map((answer) => (
              <Answer key={answer.subject} answer={answer} />
            ))}
          </tbody>
        </table>
      </section>
    ))}
  </>
)

const Answer = ({ answer: { subject, used, before, after } }: { answer: ChangedAnswer }) => (
  <tr>
    <td>
      <SubjectCode subject={subject} />
      <div class={`small state ${after.over ? 'over' : 'within'}`}>
        {before.over ? 'over' : 'within'} now, <strong>{after.over ? 'over' : 'within'}</strong> then
      </div>
    </td>
    <td class="number">
      <Size bytes={used} />
    </td>
    <td class="number">{limitWords(after)}</td>
  </tr>
)

const limitWords = ({ binding }: ChangedAnswer['after']): string =>
  binding === undefined ? 'none' : formatSize(binding.limit)
