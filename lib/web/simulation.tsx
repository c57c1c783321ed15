/** @jsxRuntime automatic @jsxImportSource preact */
import type { ChangedAnswer } from '../quota/plans.ts'
import { formatCount, Notice, Post, Size, SizeCell, SubjectCode, Table } from './components.tsx'
import type { PageContext, View } from './route.ts'

interface SimulationData {
  /** Path that the form posts to. */
  readonly path: string
  /** Fields of the form, to submit it after all. */
  readonly fields: readonly (readonly [name: string, value: string])[]
  /** The first owners for whom some subject would go over quota, or come back within it. */
  readonly changed: readonly ChangedOwner[]
  readonly total: number
}

interface ChangedOwner {
  readonly name: string
  readonly answers: readonly ChangedAnswer[]
}

/** The effect of a form of an administrator, which is not saved yet. */
export const simulationView = (
  frame: PageContext,
  { path, fields, changed, total }: SimulationData,
): View => ({
  title: 'Preview of changes',
  body: (
    <>
      <h1>Preview of changes</h1>
      <Notice kind="success">Nothing has been saved yet.</Notice>
      <p>
        {total === 0
          ? 'No owner would go over quota or come back within it.'
          : `${formatCount(total, 'owner')} would go over quota or come back within it.`}
        {total > changed.length && ` Showing the first ${changed.length}.`}
      </p>
      {changed.map((owner) => (
        <Owner key={owner.name} frame={frame} owner={owner} />
      ))}
      <Post frame={frame} to={path}>
        {fields.map(([name, value], index) => (
          <input key={index} type="hidden" name={name} value={value} />
        ))}
        <div class="buttons">
          <button type="submit">Apply changes</button>
          <a href={frame.at(formPath(path, fields))}>Cancel</a>
        </div>
      </Post>
    </>
  ),
})

/** The path of the page that has the form. */
const formPath = (path: string, fields: SimulationData['fields']): string => {
  const name = fields.find(([field]) => field === 'name')?.[1] ?? ''
  const [, page] = /^(\/-\/admin\/(?:rule|group))(?:\/|$)/.exec(path) ?? []
  return page === undefined ? path : `${page}?name=${encodeURIComponent(name)}`
}

const Owner = ({ frame, owner: { name, answers } }: { frame: PageContext; owner: ChangedOwner }) => (
  <section>
    <h2>
      <a href={frame.at(`/-/storage/${name}`)}>{name}</a>
    </h2>
    <Table column="Subject" numbers={['Used', 'Limit']}>
      {answers.map(({ subject, used, after }) => (
        <tr key={subject}>
          <td>
            <SubjectCode subject={subject} />
            <div class={`small state ${after.over ? 'over' : 'within'}`}>
              {after.over ? 'Goes over quota' : 'Comes back within quota'}
            </div>
          </td>
          <SizeCell bytes={used} />
          <td class="number">
            {after.binding === undefined ? 'none' : <Size bytes={after.binding.limit} />}
          </td>
        </tr>
      ))}
    </Table>
  </section>
)
