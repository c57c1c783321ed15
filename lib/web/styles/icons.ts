/**
 * Icons of 16 by 16 pixels, drawn here of lines, discs and boxes. Each is a clip path, which the style sheet
 * cuts out of the color of the text: so they need no request, no script, and no other source in the
 * Content-Security-Policy.
 */

type Point = readonly [x: number, y: number]

const round = (number: number): number => Number(number.toFixed(2))

/** Shapes that turn right are filled, and those that turn left are cut out of them. */
const arcs = (x: number, y: number, radius: number, turn: 0 | 1): string => {
  const half = (width: number) => `a${radius} ${radius} 0 0 ${turn} ${width} 0`
  return `M${round(x - radius)} ${y}${half(2 * radius)}${half(-2 * radius)}Z`
}

const disc = (x: number, y: number, radius: number): string => arcs(x, y, radius, 1)
const hole = (x: number, y: number, radius: number): string => arcs(x, y, radius, 0)

const WIDTH = 1.5

const ring = (x: number, y: number, radius: number): string =>
  disc(x, y, round(radius + WIDTH / 2)) + hole(x, y, round(radius - WIDTH / 2))

const segment = ([x1, y1]: Point, [x2, y2]: Point, width: number): string => {
  const length = Math.hypot(x2 - x1, y2 - y1)
  const [dx, dy] = [((y2 - y1) / length) * (width / 2), ((x1 - x2) / length) * (width / 2)]
  const corners = [
    [x1 + dx, y1 + dy],
    [x2 + dx, y2 + dy],
    [x2 - dx, y2 - dy],
    [x1 - dx, y1 - dy],
  ]
  return `M${corners.map(([x, y]) => `${round(x!)} ${round(y!)}`).join('L')}Z`
}

/** @param text points such as `4.5,4 14,4` */
const stroke = (text: string): string => {
  const points = text.split(' ').map((point) => point.split(',').map(Number) as [number, number])
  const segments = points.slice(1).map((point, index) => segment(points[index]!, point, WIDTH))
  return segments.join('') + points.map(([x, y]) => disc(x, y, WIDTH / 2)).join('')
}

/** Lines with round corners and ends. */
const line = (...lines: readonly string[]): string => lines.map(stroke).join('')

const outline = (points: string): string => line(`${points} ${points.split(' ')[0]}`)

/**
 * Corners of a figure around the middle.
 * @param radii of one corner after the other, in turn
 */
const around = (count: number, ...radii: readonly number[]): Point[] =>
  Array.from({ length: count }, (_, index) => {
    const angle = (2 * Math.PI * index) / count - Math.PI / 2
    const radius = radii[index % radii.length]!
    return [round(8 + radius * Math.cos(angle)), round(8.3 + radius * Math.sin(angle))]
  })

const SHEET = outline('3,1.75 9.25,1.75 13,5.5 13,14.25 3,14.25')

const BRANCH =
  ring(4.25, 3.5, 1.6) +
  ring(4.25, 12.5, 1.6) +
  ring(11.75, 4.75, 1.6) +
  line('4.25,5.8 4.25,10.2', '11.75,7 11.75,8.2 9,9.6 5.4,10')

const PATHS = {
  alert: ring(8, 8, 6.5) + line('8,4.75 8,8.5') + disc(8, 11.1, 0.95),
  artifacts:
    ring(8, 8, 3.6) +
    around(8, 5)
      .map(([x, y], index) =>
        segment([x, round(y - 0.3)], around(8, 7.3).map(([a, b]): Point => [a, round(b - 0.3)])[index]!, 2.2),
      )
      .join(''),
  attachments: line(
    '13.5,7.5 8,13 6,13.9 4,13.3 2.8,11.7 2.9,9.7 9,3.3 10.6,2.4 12.2,2.9 12.9,4.4 12.4,6 7.2,11.2',
  ),
  audit:
    line('4.5,4 14,4', '4.5,8 14,8', '4.5,12 14,12') + disc(1.9, 4, 1) + disc(1.9, 8, 1) + disc(1.9, 12, 1),
  branch: BRANCH,
  closed: ring(8, 8, 6.5) + line('5,8.2 7.1,10.3 11,5.9'),
  commit: ring(8, 8, 2.9) + line('0.9,8 4.2,8', '11.8,8 15.1,8'),
  copy:
    outline('5.5,5.5 14.25,5.5 14.25,14.25 5.5,14.25') + line('3,10.5 1.75,10.5 1.75,1.75 10.5,1.75 10.5,3'),
  done: line('2.5,8.6 6.2,12.2 13.5,3.9'),
  download: line('8,1.75 8,10.25', '4.25,6.75 8,10.5 11.75,6.75', '2,14 14,14'),
  eye:
    line(
      '1.2,8 3.4,5.2 6.1,3.8 8,3.5 9.9,3.8 12.6,5.2 14.8,8 12.6,10.8 9.9,12.2 8,12.5 6.1,12.2 3.4,10.8 1.2,8',
    ) + disc(8, 8, 1.9),
  file: SHEET + line('9,2 9,5.75 12.75,5.75'),
  folder:
    'M1 3.5a1.2 1.2 0 0 1 1.2-1.2h3.6l1.8 2h6.2a1.2 1.2 0 0 1 1.2 1.2v7a1.2 1.2 0 0 1-1.2 1.2H2.2A1.2 1.2 0 0 1 1 12.5Z',
  fork:
    ring(4, 3.25, 1.5) +
    ring(12, 3.25, 1.5) +
    ring(8, 12.75, 1.5) +
    line('4,5.4 4,6.6 5.4,8 10.6,8 12,6.6 12,5.4', '8,8 8,10.6'),
  git: BRANCH,
  history: ring(8, 8, 6.5) + line('8,4.2 8,8 10.6,9.7'),
  key: ring(5, 11, 2.9) + line('7.1,8.9 13.6,2.4', '11,5 13.2,7.2'),
  lfs:
    outline('1.75,2.25 14.25,2.25 14.25,7 1.75,7') +
    outline('1.75,9 14.25,9 14.25,13.75 1.75,13.75') +
    disc(4.5, 4.63, 0.95) +
    disc(4.5, 11.38, 0.95),
  link: SHEET + line('6,11 9.8,7.2', '6.6,7.2 9.8,7.2 9.8,10.4'),
  lock: outline('2.75,7 13.25,7 13.25,14.25 2.75,14.25') + line('5,7 5,4.4 6,2.6 8,1.8 10,2.6 11,4.4 11,7'),
  open: ring(8, 8, 6.5) + disc(8, 8, 1.9),
  group:
    ring(6, 5.25, 2.4) +
    line(
      '1.25,13.5 1.8,11.6 3.6,10.3 6,10 8.4,10.3 10.2,11.6 10.75,13.5',
      '10.5,2.9 12.2,3.6 12.8,5.25 12.2,6.9 10.5,7.6',
      '12.2,10.2 13.6,11.3 14.5,13.5',
    ),
  organization:
    outline('2.25,1.75 10,1.75 10,14.25 2.25,14.25') +
    line('10,6.5 13.75,6.5 13.75,14.25 10,14.25', '5,5 7.2,5', '5,8 7.2,8', '5,11 7.2,11'),
  packages:
    outline('8,1.2 14.2,4.6 14.2,11.4 8,14.8 1.8,11.4 1.8,4.6') + line('1.8,4.6 8,8 14.2,4.6', '8,8 8,14.8'),
  repositories: outline('3,1.75 13,1.75 13,14.25 3,14.25') + line('3,11 13,11', '6,4.75 10,4.75'),
  rule: line(
    '8,2 8,13.5',
    '2,4 14,4',
    '4.5,14 11.5,14',
    '1.5,9.5 3.25,4.5 5,9.5 1.5,9.5',
    '11,9.5 12.75,4.5 14.5,9.5 11,9.5',
  ),
  search: ring(6.75, 6.75, 4.75) + line('10.4,10.4 14.2,14.2'),
  session: outline('1.75,2.5 14.25,2.5 14.25,10.75 1.75,10.75') + line('8,10.75 8,13.75', '5,13.75 11,13.75'),
  settings:
    line('1.75,4.5 7.4,4.5', '12,4.5 14.25,4.5') +
    ring(9.75, 4.5, 1.7) +
    line('1.75,11.5 3.4,11.5', '8,11.5 14.25,11.5') +
    ring(5.75, 11.5, 1.7),
  'sign-out': line('6,1.75 2.25,1.75 2.25,14.25 6,14.25', '6,8 14,8', '10.75,4.75 14,8 10.75,11.25'),
  star: outline(around(10, 7, 3.2).join(' ')),
  submodule:
    outline('1.75,3 6,3 7.8,5 14.25,5 14.25,13.25 1.75,13.25') +
    line('5.2,9.2 9.8,9.2', '7.8,7 10,9.2 7.8,11.4'),
  tag: outline('1.75,1.75 7.6,1.75 14.4,8.5 8.5,14.4 1.75,7.6') + disc(4.9, 4.9, 1.15),
  token: outline('1.5,2.5 14.5,2.5 14.5,13.5 1.5,13.5') + line('4.25,6 6.5,8 4.25,10', '8.5,10.5 11.5,10.5'),
  user: ring(8, 5, 2.9) + line('2.2,14.25 2.9,11.9 5,10.4 8,10 11,10.4 13.1,11.9 13.8,14.25'),
} as const satisfies Record<string, string>

export type IconName = keyof typeof PATHS

const names = Object.keys(PATHS) as IconName[]

export const icons = `
:root { ${names.map((name) => `--icon-${name}: path("${PATHS[name]}");`).join(' ')} }
.icon { display: inline-block; flex: none; width: 16px; height: 16px; background: currentColor; vertical-align: -.1875rem; forced-color-adjust: none; }
${names.map((name) => `.icon-${name} { clip-path: var(--icon-${name}); }`).join('\n')}
@media (forced-colors: active) { .icon, .notice::before, .state::before { background: CanvasText; } :is(.tabs, .choices, header) [aria-current] { text-decoration: underline; } }
`
