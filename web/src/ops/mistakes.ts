// Which of the server's problem pointers belong to which field.
import type { FieldError } from '../api'

// What is wrong with the field at this pointer, and with what is inside it.
export function errorAt(errors: FieldError[], pointer: string): string | undefined {
  const here = errors.filter((error) => error.pointer === pointer || error.pointer.startsWith(`${pointer}/`))
  const words = here.map((error) => (error.pointer === pointer ? error.message : `${error.pointer.slice(pointer.length + 1)}: ${error.message}`))
  return words.length ? words.join('; ') : undefined
}

export function errorsElsewhere(errors: FieldError[], pointers: string[]): FieldError[] {
  return errors.filter((error) => !pointers.some((pointer) => error.pointer === pointer || error.pointer.startsWith(`${pointer}/`)))
}
