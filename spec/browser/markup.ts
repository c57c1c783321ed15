/** The forms and the refusals in the markup of a page, for what needs no browser. */

/** A form as a browser would send it. */
export interface MarkedForm {
  readonly fields: Readonly<Record<string, readonly string[]>>
  /** The tags of its fields. */
  readonly tags: readonly string[]
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }

const unescaped = (text: string): string =>
  text.replace(/&(\w+|#39);/g, (whole, name: string) => ENTITIES[name] ?? whole)

export const attribute = (tag: string, name: string): string | undefined => {
  const [, value] = new RegExp(` ${name}="([^"]*)"`).exec(tag) ?? []
  return value === undefined ? undefined : unescaped(value)
}

/** Fields with their values, as far as they are sent; of the buttons, the first one, which Enter presses. */
const formFrom = (html: string): MarkedForm => {
  const fields: Record<string, string[]> = {}
  const tags: string[] = []
  const put = (tag: string, value: string) => {
    const name = attribute(tag, 'name')
    if (name !== undefined) fields[name] = [...(fields[name] ?? []), value]
  }
  let hasButton = false
  for (const [tag, kind, rest = ''] of html.matchAll(/<(input|select|textarea|button)\b[^>]*>([^<]*)/g)) {
    if (kind !== 'button') tags.push(tag.slice(0, tag.length - rest.length))
    const isBox = / type="(?:checkbox|radio)"/.test(tag)
    if (kind === 'textarea') put(tag, unescaped(rest))
    else if (kind === 'select') put(tag, selectedIn(html.slice(html.indexOf(tag))))
    else if (kind === 'input' && !/ type="file"/.test(tag) && (!isBox || / checked\b/.test(tag)))
      put(tag, attribute(tag, 'value') ?? '')
    else if (kind === 'button' && !hasButton) put(tag, attribute(tag, 'value') ?? '')
    if (kind === 'button') hasButton = true
  }
  return { fields, tags }
}

const selectedIn = (html: string): string => {
  const [options = ''] = /^.*?<\/select>/s.exec(html) ?? []
  const all = [...options.matchAll(/<option\b[^>]*>/g)].map(([tag]) => tag)
  const chosen = all.find((tag) => / selected\b/.test(tag)) ?? all[0] ?? ''
  return attribute(chosen, 'value') ?? ''
}

/** The forms of a page with an action. */
export const formsIn = (html: string, action: string): MarkedForm[] =>
  [...html.matchAll(/<form\b([^>]*)>(.*?)<\/form>/gs)]
    .filter(([, tag = '']) => attribute(tag, 'action') === action && attribute(tag, 'method') === 'post')
    .map(([, , inner = '']) => formFrom(inner))
