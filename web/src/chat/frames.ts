// Calls once for all that came since the last picture the browser drew. A hidden page draws none, so a timer calls.
export class Batch {
  private waiting = false
  constructor(private readonly flush: () => void) {}

  ask(): void {
    if (this.waiting) return
    this.waiting = true
    if (document.visibilityState === 'visible') {
      // A page that is hidden before the picture is drawn would wait for ever.
      const timer = setTimeout(() => this.go(frame, timer), 250)
      const frame = requestAnimationFrame(() => this.go(frame, timer))
    } else setTimeout(() => this.go(0, 0), 200)
  }

  private go(frame: number, timer: number): void {
    cancelAnimationFrame(frame)
    clearTimeout(timer)
    this.waiting = false
    this.flush()
  }
}
