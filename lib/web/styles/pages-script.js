/*
 * The script of the pages: values of charts on hover and with the arrow keys, the sum of what is selected, copy buttons, the
 * page of an issue that has a comment, lists that close by themselves, and opening a page again whose figures are still being read.
 * Every page works without it. It loads nothing, and writes text only, never markup.
 */

/** Shows the value of a column of a chart in its caption. */
const enhanceChart = (figure) => {
  const chart = figure.querySelector('svg.chart')
  const value = figure.querySelector('[data-chart-value]')
  const columns = [...figure.querySelectorAll('.hit')]
  if (!chart || !value || columns.length === 0) return
  const summary = value.textContent
  const texts = columns.map((column) => column.textContent)
  // The titles would appear as tooltips, too.
  for (const column of columns) column.querySelector('title')?.remove()
  chart.setAttribute('tabindex', '0')
  let chosen = -1
  const choose = (index) => {
    columns[chosen]?.classList.remove('chosen')
    chosen = index
    columns[chosen]?.classList.add('chosen')
    value.textContent = chosen < 0 ? summary : texts[chosen]
  }
  const moves = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }
  chart.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') return choose(-1)
    const move = moves[event.key]
    if (move === undefined) return
    event.preventDefault()
    const from = chosen < 0 ? columns.length : chosen
    choose(Math.max(0, Math.min(columns.length - 1, from + move)))
  })
  chart.addEventListener('pointermove', ({ target }) => {
    const index = columns.indexOf(target)
    if (index >= 0 && index !== chosen) choose(index)
  })
  chart.addEventListener('pointerleave', () => choose(-1))
  chart.addEventListener('blur', () => choose(-1))
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB']

/** A size with three digits, as the server writes it. */
const formatSize = (bytes) => {
  let [value, unit] = [bytes, 0]
  for (; value >= 1023.5 && unit < UNITS.length - 1; unit++) value /= 1024
  const digits = unit === 0 || value >= 100 ? 0 : value >= 10 ? 1 : 2
  return `${Number(value.toFixed(digits)).toLocaleString('en')} ${UNITS[unit]}`
}

/** Says how much the selected rows of a form add up to, adds a box that selects all of them, and disables its buttons without one. */
const enhanceSelection = (form) => {
  const boxes = [...form.querySelectorAll('input[type=checkbox][data-bytes]')]
  const output = form.querySelector('[data-selected]')
  if (boxes.length === 0 || !output) return
  const explanation = output.textContent
  output.setAttribute('aria-live', 'polite')
  const buttons = form.querySelectorAll('button')
  const head = form.querySelector('th.check')
  const all = document.createElement('input')
  all.type = 'checkbox'
  all.setAttribute('aria-label', 'Select all')
  head?.append(all)
  const update = () => {
    const chosen = boxes.filter((box) => box.checked)
    const bytes = chosen.reduce((sum, box) => sum + Number(box.dataset.bytes), 0)
    output.textContent = chosen.length === 0 ? explanation : `${chosen.length} selected, ${formatSize(bytes)}`
    for (const button of buttons) button.disabled = chosen.length === 0
    all.checked = chosen.length === boxes.length
    all.indeterminate = chosen.length > 0 && !all.checked
  }
  all.addEventListener('change', () => {
    for (const box of boxes) box.checked = all.checked
    update()
  })
  form.addEventListener('change', update)
  // After Back, the browser ticks the boxes again once this script has run, without an event of their own.
  addEventListener('pageshow', update)
  update()
}

/** Ticks the subjects of a rule that another one includes together with it; the summary names those that are chosen. */
const enhanceSubjects = (group) => {
  const boxes = [...group.querySelectorAll('input[name=subject]')]
  const including = (box) => (box.dataset.in || '').split(' ')
  const summary = group.closest('details')?.querySelector('summary span')
  group.addEventListener('change', ({ target }) => {
    for (const box of boxes)
      if (including(box).includes(target.value)) box.checked = target.checked
      else if (!target.checked && including(target).includes(box.value)) box.checked = false
    const chosen = boxes.filter((box) => box.checked).map((box) => box.value)
    const names = boxes
      .filter((box) => box.checked && !including(box).some((value) => chosen.includes(value)))
      .map((box) => box.labels[0].querySelector('[data-name]').textContent)
    if (summary) summary.textContent = new Intl.ListFormat('en').format(names) || 'Nothing'
  })
}

/** Adds a button that copies the text of an element. */
const enhanceCopy = (element) => {
  if (!navigator.clipboard) return
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'secondary copy'
  const [icon, text] = [document.createElement('span'), document.createElement('span')]
  text.className = 'hidden'
  button.append(icon, text)
  const show = (name, label) => {
    icon.className = `icon icon-${name}`
    text.textContent = label
    button.title = label
  }
  show('copy', 'Copy')
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(element.dataset.copy || element.textContent)
    show('done', 'Copied')
    setTimeout(() => show('copy', 'Copy'), 2000)
  })
  element.after(' ', button)
}

/** Leads to the page of the issue that has the comment in the address, whose end the server never sees. */
const findComment = () => {
  const [, id] = /^#issuecomment-(\d+)$/.exec(location.hash) ?? []
  if (id === undefined || document.getElementById(`issuecomment-${id}`)) return
  if (new URLSearchParams(location.search).get('from') !== id)
    location.replace(`${location.pathname}?from=${id}${location.hash}`)
}

/** Closes a list that is open when a click, the focus or Escape leaves it. */
const enhanceChoice = (list) => {
  const close = () => {
    list.open = false
  }
  addEventListener('click', ({ target }) => list.contains(target) || close())
  list.addEventListener('focusout', ({ relatedTarget }) => {
    if (relatedTarget && !list.contains(relatedTarget)) close()
  })
  list.addEventListener('keydown', ({ key }) => {
    if (key !== 'Escape' || !list.open) return
    close()
    list.querySelector('summary').focus()
  })
}

/**
 * Milliseconds within which a form is sent once: longer than a double click takes, and than the server works at most on a password. Later
 * it can be sent again, such as after the browser was told to stop; a form that changes something twice is refused by the server then.
 */
const SENT_ONCE_MS = 3000

/** Ignores the second click of a double click, whose answer would replace that of the first: a token is shown only there. */
const sendOnce = (form) => {
  let sentAt = -Infinity
  form.addEventListener('submit', (event) => {
    if (event.timeStamp - sentAt < SENT_ONCE_MS) event.preventDefault()
    else sentAt = event.timeStamp
  })
  // After Back, the page can be the same document.
  addEventListener('pageshow', () => {
    sentAt = -Infinity
  })
}

for (const form of document.querySelectorAll('form[method=post]')) sendOnce(form)
for (const list of document.querySelectorAll('details.choice')) enhanceChoice(list)
for (const figure of document.querySelectorAll('[data-chart]')) enhanceChart(figure)
for (const form of document.querySelectorAll('form')) enhanceSelection(form)
for (const group of document.querySelectorAll('[data-subjects]')) enhanceSubjects(group)
for (const element of document.querySelectorAll('[data-copy]')) enhanceCopy(element)
if (document.querySelector('[data-comments]')) {
  findComment()
  addEventListener('hashchange', findComment)
}
if (document.querySelector('[data-reload]')) setTimeout(() => location.replace(location.href), 2000)
