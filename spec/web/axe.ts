import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
/** The rules of {@link RULES} that look at colors, which are all that the other color scheme changes. */
const COLOR_RULES = { type: 'rule', values: ['color-contrast', 'link-in-text-block'] }

/** Off unless asked for: targets have 24 pixels, or space around them (WCAG 2.5.8). */
const TARGETS = { 'target-size': { enabled: true } }

/**
 * Runs axe-core in both color schemes, in an isolated world, which the content security policy of the page
 * does not restrict.
 */
export const violationsOn = async (page: Page): Promise<string[]> => {
  const session = await page.context().newCDPSession(page)
  const { frameTree } = await session.send('Page.getFrameTree')
  const { executionContextId: contextId } = await session.send('Page.createIsolatedWorld', {
    frameId: frameTree.frame.id,
  })
  const evaluate = async (expression: string): Promise<unknown> => {
    const evaluated = { expression, contextId, awaitPromise: true, returnByValue: true }
    const { result, exceptionDetails } = await session.send('Runtime.evaluate', evaluated)
    assert.equal(exceptionDetails, undefined)
    return result.value
  }
  const found: string[] = []
  await evaluate(`${axe}; true`)
  for (const [colorScheme, runOnly] of [
    ['light', RULES],
    ['dark', COLOR_RULES],
  ] as const) {
    // Colors change at once, without a transition.
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    const violations =
      await evaluate(`axe.run(document, { runOnly: ${JSON.stringify(runOnly)}, rules: ${JSON.stringify(TARGETS)} })
      .then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map((node) => node.html + ' ' + node.failureSummary).join('; ')))`)
    found.push(...(violations as string[]).map((violation) => `${colorScheme}: ${violation}`))
  }
  await session.detach()
  return found
}
