/** Days and times on the pages: always in UTC and as `2026-11-21`, with the exact time for programs. */
import type { RenderableProps } from 'preact'
import { dateOf, timestamp } from '../../clock.ts'

/**
 * The day of a time, with the exact time on hover.
 * @param seconds since 1970
 */
export const Day = ({ seconds }: { seconds: number }) => {
  const time = timestamp(seconds)
  return (
    <time dateTime={time} title={time.replace('T', ' ').replace('Z', ' UTC')}>
      {time.slice(0, 10)}
    </time>
  )
}

/** What happened, and on which day: `created on 2026-11-21`. */
export const Dated = ({ seconds, children }: RenderableProps<{ seconds: number }>) => (
  <>
    {children} <Day seconds={seconds} />
  </>
)

/**
 * A day that has no time.
 * @param day days since 1970-01-01
 */
export const CalendarDay = ({ day }: { day: number }) => <time dateTime={dateOf(day)}>{dateOf(day)}</time>

/**
 * A time to the minute, such as `2026-11-21 04:09`.
 * @param seconds since 1970
 */
export const Minute = ({ seconds }: { seconds: number }) => {
  const time = timestamp(seconds)
  return <time dateTime={time}>{time.slice(0, 16).replace('T', ' ')}</time>
}

/** @param at seconds since 1970; it is saved at most once an hour, so minutes would mean nothing */
export const LastUse = ({ at }: { at: number | undefined }) => {
  if (at === undefined) return <>never used</>
  const time = timestamp(at)
  return (
    <>
      last used on <time dateTime={time}>{`${time.slice(0, 10)} about ${time.slice(11, 13)}:00 UTC`}</time>
    </>
  )
}
