import { replay } from './replay.ts'

replay('paths')
