const ALERTS = ['note', 'tip', 'important', 'warning', 'caution'] as const
export type Alert = (typeof ALERTS)[number]

/** `> [!NOTE]`: a block quote whose first line is such a word is an alert. */
const FIRST_LINE = /^\[!(note|tip|important|warning|caution)\][ \t]*(?:\n|$)/i

/** @returns the kind of alert that a block quote beginning with this text is, and how long its first line is */
export const alertOf = (text: string): { alert: Alert; length: number } | undefined => {
  const [line, word] = FIRST_LINE.exec(text) ?? []
  return line === undefined ? undefined : { alert: word!.toLowerCase() as Alert, length: line.length }
}

export const classOfAlert = (alert: Alert): string => `attention-header attention-${alert}`

export const titleOfAlert = (alert: Alert): string =>
  `<p class="attention-title" dir="auto"><strong class="attention-${alert}">${alert[0]!.toUpperCase()}${alert.slice(1)}</strong></p>`

export const ALERT_CLASSES = ALERTS.map((alert) => `attention-${alert}`)
