/**
 * What is known of an OpenPGP key. Apart from the code that reads keys, because declarations of the package lead here and
 * must not lead on to those of the OpenPGP library.
 */
export interface Capabilities {
  canSign: boolean
  canEncryptComms: boolean
  canEncryptStorage: boolean
  canCertify: boolean
}

/** What a key and a subkey have in common. */
export interface OpenPgpPart extends Capabilities {
  /** 16 upper-case hexadecimal digits. */
  keyId: string
  /** Upper-case hexadecimal digits: 40 of a version 4 key, 64 of a version 6 key. */
  fingerprint: string
  /** The bare public-key packet, in base64. */
  publicKey: string
  createdAt: Date
  /** Null: never. It may be past: an expired key still tells who signed while it was in force. */
  expiresAt: Date | null
}

export interface OpenPgpSubkey extends OpenPgpPart {
  primaryKeyId: string
}

export interface OpenPgpKey extends OpenPgpPart {
  /** As written, of the user ids whose self-certification holds and is not revoked; each once, whatever its case. */
  emails: string[]
  /** Those whose binding signature holds, revoked or not. */
  subkeys: OpenPgpSubkey[]
}
