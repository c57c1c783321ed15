/** What stands within a line: icons, and facts with dots between them. */
import type { ComponentChildren, RenderableProps } from 'preact'
import type { IconName } from '../styles/icons.ts'

interface IconProps {
  name: IconName
  /** Class of its color. */
  class?: string | undefined
}

/** An icon beside words that say the same, so that screen readers need not know of it. */
export const Icon = ({ name, class: className }: IconProps) => (
  <span class={['icon', `icon-${name}`, className].filter(Boolean).join(' ')} aria-hidden="true" />
)

/** The beginning of a row: an icon, and beside it a name with what belongs to it. */
export const Named = ({
  icon,
  class: className,
  children,
}: RenderableProps<{ icon: IconName } & Pick<IconProps, 'class'>>) => (
  <div class="named">
    <Icon name={icon} class={className} />
    <div>{children}</div>
  </div>
)

/**
 * Facts on one line with dots between them; those that are false are left out. A dot never stands at the end
 * or the beginning of a line.
 */
export const Dots = ({ facts }: { facts: readonly ComponentChildren[] }) => (
  <span class="dots">
    {facts
      .filter((fact) => fact !== false && fact !== undefined && fact !== '')
      .map((fact, index) => (
        <>
          {index > 0 && ' '}
          <span key={index}>
            {index > 0 && <i>· </i>}
            {fact}
          </span>
        </>
      ))}
  </span>
)

/** Parts of a sentence, with a text between each two. */
export const Joined = ({ parts, by = ', ' }: { parts: readonly ComponentChildren[]; by?: string }) => (
  <>
    {parts.map((part, index) => (
      <>
        {index > 0 && by}
        {part}
      </>
    ))}
  </>
)
