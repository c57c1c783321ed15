import type { Page } from 'playwright-core'

/**
 * What does not fit on the screen: a page that is wider than it, text that its element cuts, a picture that
 * its line cuts, a choice that its list cuts, a button with two lines, a number that leaves its cell, days
 * of a chart that overlap, a tab that does not show as a whole, without scrolling, in one line, a box that
 * does not stand at the height of the text beside it, or small texts of one line that do not stand on the
 * same baseline. Browsers round the place of a link with padding apart from that of the words beside it, so
 * that neither may be between two pixels: the name of an author would be painted a pixel too low. And a
 * button that is red without deleting or revoking something, or the other way around.
 */
export const misfitsOn = (page: Page): Promise<string[]> => page.evaluate(MISFITS) as Promise<string[]>

/** Days that the page writes in another form than `2026-11-21`, or without the day for programs. */
export const looseDaysOn = (page: Page): Promise<string[]> => page.evaluate(LOOSE_DAYS) as Promise<string[]>

const LOOSE_DAYS = `(() => {
  const loose = []
  const walker = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT)
  while (walker.nextNode()) {
    const { data, parentElement } = walker.currentNode
    if (parentElement.closest('.prose, .source, .diff, pre, code, bdi')) continue
    if (/\\b(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]* \\d/.test(data)) loose.push(data)
    for (const [day] of data.matchAll(/\\d{4}-\\d\\d-\\d\\d/g))
      if (!parentElement.closest('time')?.dateTime.startsWith(day)) loose.push(data)
  }
  return loose
})()`

const MISFITS = `(() => {
  const shown = (selector) => [...document.querySelectorAll(selector)].filter((one) => one.checkVisibility())
  const named = (what) => (one) => what + ': ' + one.outerHTML.slice(0, 200)
  const isCut = (one) => {
    const { overflowX, clipPath } = getComputedStyle(one)
    return ['hidden', 'clip'].includes(overflowX) && clipPath === 'none' && one.scrollWidth > one.clientWidth + 1
  }
  const cutsPicture = (line) => {
    const { top, bottom } = line.getBoundingClientRect()
    return getComputedStyle(line).overflowY === 'clip' && [...line.querySelectorAll('.avatar')].some((picture) => {
      const box = picture.getBoundingClientRect()
      return box.top < top || box.bottom > bottom
    })
  }
  const pen = document.createElement('canvas').getContext('2d')
  const cutsChoice = (select) => {
    const { font, paddingLeft, paddingRight } = getComputedStyle(select)
    pen.font = font
    const room = select.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight)
    return [...select.options].some((option) => pen.measureText(option.text).width > room + 1)
  }
  const linesOf = (one) => {
    const range = document.createRange()
    range.selectNodeContents(one)
    const boxes = [...range.getClientRects()].filter(({ width }) => width > 0).sort((left, right) => left.top - right.top)
    return boxes.filter(({ top }, index) => boxes.slice(0, index).every(({ bottom }) => bottom <= top + 1)).length
  }
  const cutsTab = (tabs) => {
    const { left, right } = tabs.getBoundingClientRect()
    return [...tabs.children].some((tab) => {
      const box = tab.getBoundingClientRect()
      return box.left < left - 1 || box.right > right + 1 || tab.scrollWidth > tab.clientWidth + 1
    })
  }
  const overlap = (days) => {
    const boxes = [...days.querySelectorAll('time')].filter((day) => day.checkVisibility()).map((day) => day.getBoundingClientRect())
    return boxes.some(({ left }, index) => index > 0 && left < boxes[index - 1].right)
  }
  const leavesCell = (cell) => {
    const { left, right } = cell.getBoundingClientRect()
    const { paddingLeft, paddingRight } = getComputedStyle(cell)
    const range = document.createRange()
    range.selectNodeContents(cell)
    return [...range.getClientRects()].some(
      (box) => box.left < left + parseFloat(paddingLeft) - 1 || box.right > right - parseFloat(paddingRight) + 1,
    )
  }
  const isWronglyColored = (button) =>
    button.classList.contains('danger') !== /^(Delete|Revoke)\\b/.test(button.textContent.trim())
  const isWhole = (pixels) => Math.abs(pixels - Math.round(pixels)) < 0.01
  const textBoxesOf = (row) => {
    const boxes = []
    const walker = document.createTreeWalker(row, NodeFilter.SHOW_TEXT)
    while (walker.nextNode()) {
      const { parentElement } = walker.currentNode
      const { fontSize, fontFamily } = getComputedStyle(parentElement)
      if (parentElement.closest('.hidden, .avatar, .tag') || !walker.currentNode.data.trim()) continue
      const range = document.createRange()
      range.selectNodeContents(walker.currentNode)
      for (const { top, height } of range.getClientRects()) boxes.push({ top, height, font: fontSize + fontFamily })
    }
    return boxes
  }
  const isCrooked = (row) => {
    const boxes = textBoxesOf(row)
    return boxes.some((left) =>
      boxes.some(({ top, font }) => font === left.font && top - left.top > 0.5 && top - left.top < left.height / 2),
    )
  }
  const standsApart = (box) => {
    const [text] = textBoxesOf(box.closest('td, th').nextElementSibling)
    const { top, height } = box.getBoundingClientRect()
    return Math.abs(top + height / 2 - text.top - text.height / 2) > 2
  }
  const isBetweenPixels = (row) => {
    const boxes = textBoxesOf(row)
    const links = [...row.querySelectorAll('a')].filter((one) => getComputedStyle(one).display === 'inline')
    const paddings = links.map((one) => parseFloat(getComputedStyle(one).paddingTop))
    return links.length > 0 && boxes.length > 1 && !(boxes.every(({ top }) => isWhole(top + scrollY)) && paddings.every(isWhole))
  }
  const LINES = '.small, .subtitle, .file-head, .entries li'
  const wide = document.documentElement.scrollWidth
  return [
    ...(wide > innerWidth ? ['the page is ' + wide + ' wide'] : []),
    ...shown('body :not(input)').filter(isCut).map(named('cut')),
    ...shown('.person').filter(cutsPicture).map(named('cuts a picture')),
    ...shown('.check input').filter(standsApart).map(named('stands apart from its text')),
    ...shown('select').filter(cutsChoice).map(named('cuts a choice')),
    ...shown('button, .button').filter((one) => linesOf(one) > 1).map(named('wraps')),
    ...shown('button').filter(isWronglyColored).map(named('is red, or should be')),
    ...shown('td.number').filter(leavesCell).map(named('leaves its cell')),
    ...shown(LINES).filter(isCrooked).map(named('is crooked')),
    ...shown(LINES).filter(isBetweenPixels).map(named('is between pixels')),
    ...shown('.days').filter(overlap).map(named('dates overlap')),
    ...shown('.tabs').filter(cutsTab).map(named('cuts a tab')),
  ]
})()`
