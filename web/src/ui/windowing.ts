// Which rows of a long list stand in the document: those in view, and some on either side.
import type { RefObject } from 'preact'
import { useEffect, useState } from 'preact/hooks'

export interface Window { from: number; to: number; before: number; after: number } // before, after: pixels left out

const spareRows = 12

export function windowOf(count: number, rowHeight: number, top: number, height: number): Window {
  const from = Math.max(0, Math.min(count, Math.floor(top / rowHeight)) - spareRows)
  const to = Math.min(count, Math.ceil((top + height) / rowHeight) + spareRows)
  return { from, to, before: from * rowHeight, after: (count - to) * rowHeight }
}

// Rows of equal height in a scrolling box.
export function useWindow(box: RefObject<HTMLElement | null>, count: number, rowHeight: number): Window {
  const [view, setView] = useState({ top: 0, height: 800 })
  useEffect(() => {
    const element = box.current
    if (!element) return
    let frame = 0
    const look = () => {
      cancelAnimationFrame(frame)
      frame = requestAnimationFrame(() => setView((old) => {
        const next = { top: element.scrollTop, height: element.clientHeight }
        const moved = Math.abs(next.top - old.top) >= rowHeight * (spareRows / 3) || next.height !== old.height || next.top === 0
        return moved ? next : old
      }))
    }
    look()
    element.addEventListener('scroll', look, { passive: true })
    const resized = new ResizeObserver(look)
    resized.observe(element)
    return () => {
      cancelAnimationFrame(frame)
      element.removeEventListener('scroll', look)
      resized.disconnect()
    }
  }, [box.current, rowHeight])
  return windowOf(count, rowHeight, view.top, view.height)
}
