import { type ComponentChildren, createContext, type RenderableProps } from 'preact'
import { useContext } from 'preact/hooks'
import { formatBytes, formatExactLimit, formatSize } from '../../byte-sizes.ts'
import type { IconName } from '../styles/icons.ts'
import { Icon } from './inline.tsx'
import { messageOf } from './labels.ts'
import type { Crumb, Entered, PageContext } from './route.ts'

const Context = createContext<PageContext | undefined>(undefined)

export const PageContextProvider = Context.Provider

/** Where the page that a component is part of is mounted, and who views it. */
export const usePageContext = (): PageContext => useContext(Context)!

interface LinkProps {
  to: string
  class?: string | undefined
  /** Text for screen readers, when the children do not say enough. */
  label?: string
  /** The link is marked as current on these paths and below them. */
  currentBelow?: readonly string[] | undefined
  /** Whether the page is in the section that the link leads to. */
  isCurrent?: boolean
}

/** A link to a page, on which it is marked as current. */
export const Link = ({ to, class: ofLink, label, children, ...section }: RenderableProps<LinkProps>) => {
  const { urlOf, path } = usePageContext()
  const { currentBelow = [], isCurrent = currentBelow.some((one) => isAtOrBelow(path, one)) } = section
  const current = to === path ? 'page' : isCurrent ? 'true' : undefined
  return (
    <a class={ofLink} href={urlOf(to)} aria-label={label} aria-current={current}>
      {children}
    </a>
  )
}

const isAtOrBelow = (path: string, above: string): boolean => path === above || path.startsWith(`${above}/`)

/** The form around a field, when it is shown again. */
const FormContext = createContext<Entered | undefined>(undefined)

/** What was entered in the form around a field, when it is shown again, and why it was refused. */
export const useEntered = (): Entered | undefined => useContext(FormContext)

/** A link that is a name, whose direction can differ from that of the text. */
export const NameLink = ({ children, ...link }: RenderableProps<LinkProps>) => (
  <Link {...link}>
    <bdi>{children}</bdi>
  </Link>
)

/** The name of a row, which leads to its page. */
export const StrongLink = (link: RenderableProps<LinkProps>) => <NameLink class="strong" {...link} />

/** A button of a form that looks like another than the most important one. */
export const Submit = ({ kind, children }: RenderableProps<{ kind: string }>) => (
  <button type="submit" class={kind}>
    {children}
  </button>
)

type PostProps = RenderableProps<{
  to: string
  /** Fields that are not shown; as entries where a name has several values. */
  fields?: Readonly<Record<string, string>> | readonly (readonly [name: string, value: string])[]
  class?: string
}>

/** A form that changes something: sends the CSRF token along. */
export const Post = ({ to, fields = {}, class: className, children }: PostProps) => {
  const { urlOf, formToken, entered } = usePageContext()
  const entries = Symbol.iterator in fields ? fields : Object.entries(fields)
  return (
    <form method="post" action={urlOf(to)} class={className}>
      {[['form', formToken] as const, ...entries].map(([name, value], index) => (
        <input key={index} type="hidden" name={name} value={value} />
      ))}
      <FormContext.Provider value={entered?.path === to ? entered : undefined}>
        {children}
      </FormContext.Provider>
    </form>
  )
}

/** A form that asks for other data. */
export const Search = ({ to, children }: RenderableProps<{ to: string }>) => {
  const { urlOf, entered } = usePageContext()
  return (
    <form method="get" action={urlOf(to)} class="inline">
      <FormContext.Provider value={entered}>{children}</FormContext.Provider>
    </form>
  )
}

interface PageHeadProps {
  title: ComponentChildren
  /** A line below the title. */
  subtitle?: ComponentChildren
  /** Beside the title. */
  picture?: ComponentChildren
}

/** The heading of a page, with links or buttons as its children. */
export const PageHead = ({ title, subtitle, picture, children }: RenderableProps<PageHeadProps>) => (
  <div class="head">
    <div class={picture === undefined ? undefined : 'profile'}>
      {picture}
      <div>
        <h1>{title}</h1>
        {subtitle !== undefined && <p class="subtitle">{subtitle}</p>}
      </div>
    </div>
    {children}
  </div>
)

interface Tab extends Crumb, Pick<LinkProps, 'currentBelow'> {
  /** The end of the name, which narrow screens leave out. */
  readonly rest?: string
}

/** Links to pages about the same subject. */
export const Tabs = ({ label, tabs }: { label: string; tabs: readonly Tab[] }) => (
  <nav class="tabs" aria-label={label}>
    {tabs.map(({ name, rest, to, currentBelow }) => (
      <Link key={to} to={to} currentBelow={currentBelow}>
        <span>
          {name}
          {rest !== undefined && <span class="rest"> {rest}</span>}
        </span>
      </Link>
    ))}
  </nav>
)

export interface SectionProps {
  id: string
  title: string
  /** A link or a few words opposite the title. */
  aside?: ComponentChildren
  /** A sentence below the title. */
  about?: ComponentChildren
}

/** A part of a page, as a card. */
export const Section = ({ id, title, aside, about, children }: RenderableProps<SectionProps>) => (
  <section aria-labelledby={id}>
    <div class="section-head">
      <h2 id={id}>{title}</h2>
      {aside}
      {about !== undefined && <p class="about small">{about}</p>}
    </div>
    {children}
  </section>
)

/** Placeholder of an empty list. */
export const Empty = ({ title, icon, children }: RenderableProps<{ title: string; icon?: IconName }>) => (
  <div class="empty">
    {icon !== undefined && <Icon name={icon} />}
    <h3>{title}</h3>
    {children}
  </div>
)

type Figure = readonly [name: string, value: ComponentChildren]

/** A list of key figures. */
export const Figures = ({ figures }: { figures: readonly Figure[] }) => (
  <dl class="figures">
    {figures.map(([name, value]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
)

/** The value of the button that shows the effect of a form without saving it. */
export const PREVIEW = 'preview'

/**
 * The buttons of a form whose effect can be previewed.
 * @param kind `secondary` when another form of the page is more important
 */
export const ActionButtons = ({ label, kind }: { label: string; kind?: 'secondary' }) => (
  <div class="buttons">
    <button type="submit" class={kind}>
      {label}
    </button>
    <button type="submit" class="secondary" name="do" value={PREVIEW}>
      Preview changes
    </button>
  </div>
)

export const Notice = ({ kind, children }: RenderableProps<{ kind: 'over' | 'near' | 'success' }>) => (
  <div class={`notice ${kind}`} role={kind === 'success' ? 'status' : 'note'}>
    {children}
  </div>
)

/** The only messages that a query can select, so that a link cannot put its own text on the page. */
const DONE: Readonly<Record<string, string>> = {
  created: 'Created.',
  saved: 'Saved.',
  deleted: 'Deleted.',
  added: 'Added.',
  removed: 'Removed.',
  nothing: 'Nothing was selected.',
  gone: 'What was selected is already deleted, or cannot be deleted here.',
  freed: 'Unused git data was deleted.',
  unused: 'Nothing was freed: there is no unused git data that is an hour old.',
  revoked: 'Revoked.',
  disabled: 'Disabled.',
  enabled: 'Enabled.',
  ended: 'The session has ended.',
  password: 'The password was changed, and all other sessions have ended. Access tokens and keys stay valid.',
}

/** Why a form was refused, when no field of the page says so. */
export const RefusalNotice = ({ entered }: { entered: Entered }) => {
  entered.isShown = true
  return (
    <div class="notice over" role="alert" id="failure">
      {sentence(messageOf(entered.refusal!))}
    </div>
  )
}

/**
 * The result of the last form: what was done, or why it was refused, unless that is about a field and stands
 * beside it (`FieldFailure` in fields.tsx).
 */
export const FlashMessage = () => {
  const { search, entered } = usePageContext()
  const done = new URLSearchParams(search).get('done')
  return (
    <>
      {done && Object.hasOwn(DONE, done) && <Notice kind="success">{DONE[done]}</Notice>}
      {entered?.refusal !== undefined && entered.refusal.field === undefined && (
        <RefusalNotice entered={entered} />
      )}
    </>
  )
}

/** A rounded size, with the exact number of bytes as its value and on hover. */
export const Size = ({ bytes }: { bytes: number }) => (
  <data value={String(bytes)} title={formatBytes(bytes)}>
    {formatSize(bytes)}
  </data>
)

/** A cell of a number column of a table. */
export const SizeCell = ({ bytes }: { bytes: number }) => (
  <td class="number">
    <Size bytes={bytes} />
  </td>
)

const unbroken = (text: string): string => text.replaceAll(' ', '\u00a0')

/** `1.25 MiB`, whose number and unit stay on one line. */
export const unbrokenSize = (bytes: number): string => unbroken(formatSize(bytes))

/** An exact limit, whose number and unit stay on one line. */
export const unbrokenLimit = (limit: number): string => unbroken(formatExactLimit(limit))

/** `1 owner`, `2,000 owners` */
export const formatCount = (count: number, singular: string, plural = `${singular}s`): string =>
  `${count.toLocaleString('en')} ${count === 1 ? singular : plural}`

/** How many items a list leaves out, below it. */
export const More = ({ left }: { left: number }) =>
  left > 0 && <p class="small">and {left.toLocaleString('en')} more</p>

/** How many items a list has, opposite its title. A list without items says so itself. */
export const Count = ({
  of: count,
  singular,
  plural,
}: {
  of: number
  singular: string
  plural?: string | undefined
}) => (count === 0 ? null : <span class="small">{formatCount(count, singular, plural)}</span>)

/** An error message as a sentence: error messages start in lower case and have no period. */
export const sentence = (message: string): string => `${message.charAt(0).toUpperCase()}${message.slice(1)}.`

/** Path of an account's page for administrators. */
export const accountPath = (name: string): string => `/-/admin/account?name=${encodeURIComponent(name)}`

export const rulePath = (name: string): string => `/-/admin/rule?name=${encodeURIComponent(name)}`
export const groupPath = (name: string): string => `/-/admin/group?name=${encodeURIComponent(name)}`
