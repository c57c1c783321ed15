/** Reads the kind of an image and its size in pixels from its first bytes, without decoding it. */
import { AvatarType } from '../records/schema/index.ts'

interface ImageFormat {
  readonly type: AvatarType
  /** Pixels. */
  readonly width: number
  readonly height: number
}

type Size = Pick<ImageFormat, 'width' | 'height'>

interface Reader {
  /** Name of the format, for people. */
  readonly name: string
  readonly signature: RegExp
  /** @throws RangeError when the content is too short */
  read(content: Buffer): Size | undefined
}

/** @returns undefined for other content; a size of 0 for an image whose size cannot be read */
export const imageFormatOf = (content: Buffer): ImageFormat | undefined => {
  const start = content.toString('latin1', 0, 16)
  const type = AvatarType.options.find((one) => READERS[one].signature.test(start))
  return type && { type, ...(sizeIn(READERS[type], content) ?? { width: 0, height: 0 }) }
}

const sizeIn = (reader: Reader, content: Buffer): Size | undefined => {
  try {
    return reader.read(content)
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

/** The first chunk has the size. */
const readPng = (content: Buffer): Size | undefined =>
  content.toString('latin1', 12, 16) === 'IHDR'
    ? { width: content.readUInt32BE(16), height: content.readUInt32BE(20) }
    : undefined

const readGif = (content: Buffer): Size => ({
  width: content.readUInt16LE(6),
  height: content.readUInt16LE(8),
})

/** RFC 9649 §2.5 to §2.7: lossy, lossless, and extended with the size of the canvas. */
const readWebp = (content: Buffer): Size | undefined => {
  switch (content.toString('latin1', 12, 16)) {
    case 'VP8 ':
      return { width: content.readUInt16LE(26) & 0x3fff, height: content.readUInt16LE(28) & 0x3fff }
    case 'VP8L': {
      const bits = content.readUInt32LE(21)
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
    }
    case 'VP8X':
      return { width: content.readUIntLE(24, 3) + 1, height: content.readUIntLE(27, 3) + 1 }
    default:
      return undefined
  }
}

/** Markers that begin a frame: ITU-T T.81, table B.1, without DHT, JPG and DAC. */
const isFrame = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)

/** The size is in the first frame, after segments with their lengths. */
const readJpeg = (content: Buffer): Size | undefined => {
  let at = 2
  for (;;) {
    if (content.readUInt8(at) !== 0xff) return undefined
    const marker = content.readUInt8(at + 1)
    if (isFrame(marker)) return { height: content.readUInt16BE(at + 5), width: content.readUInt16BE(at + 7) }
    // Any number of fill bytes may stand before a marker.
    if (marker === 0xff) at++
    else at += 2 + Math.max(2, content.readUInt16BE(at + 2))
  }
}

const READERS: Readonly<Record<AvatarType, Reader>> = {
  'image/png': { name: 'PNG', signature: /^\x89PNG\r\n/, read: readPng },
  'image/jpeg': { name: 'JPEG', signature: /^\xff\xd8\xff/, read: readJpeg },
  'image/gif': { name: 'GIF', signature: /^GIF8[79]a/, read: readGif },
  'image/webp': { name: 'WebP', signature: /^RIFF.{4}WEBPVP8/s, read: readWebp },
}

/** The formats in words, such as `PNG or JPEG`. */
export const IMAGE_FORMATS = new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(
  AvatarType.options.map((type) => READERS[type].name),
)
