import { execFileSync } from 'node:child_process'
import { replaceSection } from '../readme/documents.ts'

/**
 * Writes a table that was measured. The first cell of its head says at which commit, and on which day.
 * @param table rows of markdown, the head first
 */
export const replaceMeasured = (path: string, name: string, table: string): void => {
  const commit = execFileSync('git', ['rev-parse', '--short=8', 'HEAD'], { encoding: 'utf8' }).trim()
  const day = new Date().toISOString().slice(0, 10)
  replaceSection(path, name, table.replace(/^\| .*?(?= \|)/, `$& (${commit}, ${day})`))
}
